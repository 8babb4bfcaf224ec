/** One history over everything: each change is a list of small operations, and every operation has an inverse. */
import type { DefinitionDoc, ListName } from './definition';
import { type JsonObject, type JsonValue, sameJson } from './json';

export type Op =
  | { readonly op: 'insert'; readonly list: ListName; readonly index: number; readonly item: JsonObject }
  | { readonly op: 'remove'; readonly list: ListName; readonly index: number }
  | { readonly op: 'replace'; readonly list: ListName; readonly index: number; readonly item: JsonObject }
  | { readonly op: 'move'; readonly list: ListName; readonly from: number; readonly to: number }
  | { readonly op: 'set'; readonly field: string; readonly value: JsonValue | undefined };

function withList(doc: DefinitionDoc, list: ListName, items: readonly JsonObject[]): DefinitionDoc {
  return { ...doc, [list]: items } as unknown as DefinitionDoc;
}

function at(items: readonly JsonObject[], index: number): JsonObject {
  const item = items[index];
  if (item === undefined) throw new RangeError(`no item ${index} in a list of ${items.length}`);
  return item;
}

function applyToList(doc: DefinitionDoc, op: Exclude<Op, { op: 'set' }>): [DefinitionDoc, Op] {
  const before = doc[op.list] as readonly JsonObject[];
  const after = [...before];
  switch (op.op) {
    case 'insert':
      if (op.index < 0 || op.index > before.length) throw new RangeError(`cannot insert at ${op.index}`);
      after.splice(op.index, 0, op.item);
      return [withList(doc, op.list, after), { op: 'remove', list: op.list, index: op.index }];
    case 'remove': {
      const item = at(before, op.index);
      after.splice(op.index, 1);
      return [withList(doc, op.list, after), { op: 'insert', list: op.list, index: op.index, item }];
    }
    case 'replace': {
      const item = at(before, op.index);
      after[op.index] = op.item;
      return [withList(doc, op.list, after), { op: 'replace', list: op.list, index: op.index, item }];
    }
    case 'move': {
      const item = at(before, op.from);
      at(before, op.to);
      after.splice(op.from, 1);
      after.splice(op.to, 0, item);
      return [withList(doc, op.list, after), { op: 'move', list: op.list, from: op.to, to: op.from }];
    }
  }
}

/** Applies one operation; answers the new document and the operation that takes it back. */
export function applyOp(doc: DefinitionDoc, op: Op): [DefinitionDoc, Op] {
  if (op.op !== 'set') return applyToList(doc, op);
  const { [op.field]: old, ...rest } = doc as JsonObject;
  const next = (op.value === undefined ? rest : { ...doc, [op.field]: op.value }) as unknown as DefinitionDoc;
  return [next, { op: 'set', field: op.field, value: old }];
}

/** Applies operations in order; answers the new document and the inverse operations in the order that undoes them. */
export function applyAll(doc: DefinitionDoc, ops: readonly Op[]): [DefinitionDoc, readonly Op[]] {
  const inverse: Op[] = [];
  let current = doc;
  for (const op of ops) {
    const [next, back] = applyOp(current, op);
    inverse.unshift(back);
    current = next;
  }
  return [current, inverse];
}

interface Entry {
  readonly label: string;
  readonly ops: readonly Op[];
  readonly inverse: readonly Op[];
  readonly merge: string | undefined;
  readonly at: number;
}

export interface Change {
  readonly before: DefinitionDoc;
  readonly after: DefinitionDoc;
  readonly label: string;
  readonly kind: 'do' | 'undo' | 'redo' | 'load';
}

/** Keystrokes in one field this close together are one step back. */
const MERGE_WITHIN_MS = 1500;

/** The document with everything that was done to it; undo has no limit. */
export class History {
  private past: Entry[] = [];
  private future: Entry[] = [];
  private readonly listeners = new Set<(change: Change) => void>();

  constructor(
    private current: DefinitionDoc,
    private readonly clock: () => number = () => Date.now(),
  ) {}

  get doc(): DefinitionDoc {
    return this.current;
  }

  get undoLabel(): string | undefined {
    return this.past.at(-1)?.label;
  }

  get redoLabel(): string | undefined {
    return this.future.at(-1)?.label;
  }

  onChange(listener: (change: Change) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Does the operations as one step. Steps with the same merge key that follow each other quickly become one. */
  execute(label: string, ops: readonly Op[], merge?: string): boolean {
    if (ops.length === 0) return false;
    const before = this.current;
    const [after, inverse] = applyAll(before, ops);
    if (sameJson(before, after)) return false;
    const last = this.past.at(-1);
    const now = this.clock();
    if (merge !== undefined && last?.merge === merge && now - last.at <= MERGE_WITHIN_MS && this.future.length === 0) {
      this.past[this.past.length - 1] = {
        label: last.label,
        ops: [...last.ops, ...ops],
        inverse: [...inverse, ...last.inverse],
        merge,
        at: now,
      };
    } else {
      this.past.push({ label, ops, inverse, merge, at: now });
    }
    this.future = [];
    this.move(before, after, label, 'do');
    return true;
  }

  undo(): boolean {
    const entry = this.past.pop();
    if (!entry) return false;
    this.future.push(entry);
    const before = this.current;
    this.move(before, applyAll(before, entry.inverse)[0], entry.label, 'undo');
    return true;
  }

  redo(): boolean {
    const entry = this.future.pop();
    if (!entry) return false;
    this.past.push({ ...entry, merge: undefined });
    const before = this.current;
    this.move(before, applyAll(before, entry.ops)[0], entry.label, 'redo');
    return true;
  }

  /** Starts over with another document, for instance after somebody else's version was taken. */
  load(doc: DefinitionDoc): void {
    const before = this.current;
    this.past = [];
    this.future = [];
    this.move(before, doc, '', 'load');
  }

  private move(before: DefinitionDoc, after: DefinitionDoc, label: string, kind: Change['kind']): void {
    this.current = after;
    for (const listener of this.listeners) listener({ before, after, label, kind });
  }
}
