/** Keeps in the browser what could not be written to the server, and brings it back when the draft is opened again. */
import { type DefinitionDoc, readDefinition, text } from '../model/definition';
import { isObject, parseJson, writeJson } from '../model/json';

export interface Kept {
  readonly doc: DefinitionDoc;
  /** The revision the changes were made on. */
  readonly revision: string;
}

/** The part of `Storage` that is used; a full or forbidden storage throws. */
export interface Shelf {
  getItem(key: string): string | null;
  setItem(key: string, value: string): void;
  removeItem(key: string): void;
}

export class Rescue {
  private readonly key: string;

  constructor(
    definitionId: string,
    private readonly shelf: Shelf,
  ) {
    this.key = `waypost.unsaved.${definitionId}`;
  }

  /** True when the changes are kept; false when the browser refuses. */
  keep({ doc, revision }: Kept): boolean {
    try {
      this.shelf.setItem(this.key, writeJson({ revision, document: writeJson(doc) }));
      return true;
    } catch {
      return false;
    }
  }

  kept(): Kept | undefined {
    try {
      const value = parseJson(this.shelf.getItem(this.key) ?? 'null');
      if (!isObject(value) || text(value.revision) === '') return undefined;
      return { doc: readDefinition(text(value.document)), revision: text(value.revision) };
    } catch {
      return undefined;
    }
  }

  forget(): void {
    try {
      this.shelf.removeItem(this.key);
    } catch {
      // A storage that can't be written to has kept nothing.
    }
  }
}
