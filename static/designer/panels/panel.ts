/** What the panels on the right have in common: fields by name, refreshed from the document, marked with problems. */
import type { Session } from '../app/session';
import { CONTROLS } from '../fields/controls';
import { Field, type FieldSpec } from '../fields/field';
import type { JsonValue } from '../model/json';
import type { ProblemTarget } from '../model/problems';
import { html } from '../view/html';

interface Bound {
  readonly field: Field;
  readonly path: readonly string[];
  read(): JsonValue | undefined;
}

function startsWith(path: readonly string[], start: readonly string[]): boolean {
  return start.every((step, i) => path[i]?.toLowerCase() === step.toLowerCase());
}

export interface Panel {
  readonly element: HTMLElement;
  /** False when what it shows is gone or has become something else: a new panel is needed. */
  refresh(): boolean;
  showProblems(): void;
  /** Focuses the field a problem is about, else the first. */
  focus(path: readonly string[]): void;
}

/** Fields of one panel. */
export class Fields {
  private readonly bound: Bound[] = [];
  private readonly conditions: { readonly element: HTMLElement; holds(): boolean }[] = [];

  constructor(private readonly session: Session) {}

  /** A field that shows a value of the document and writes it back. `path` is where problems place it. */
  add(
    spec: FieldSpec,
    path: readonly string[],
    read: () => JsonValue | undefined,
    write: (value: JsonValue | undefined) => void,
  ): HTMLElement {
    const field = new Field(this.session, spec, CONTROLS[spec.editor], write);
    field.show(read());
    this.bound.push({ field, path, read });
    return field.element;
  }

  /** A field that is there only while something holds. */
  showIf(element: HTMLElement, holds: () => boolean): void {
    this.conditions.push({ element, holds });
    element.hidden = !holds();
  }

  refresh(): void {
    for (const { field, read } of this.bound) field.show(read());
    for (const { element, holds } of this.conditions) element.hidden = !holds();
  }

  showProblems(isMine: (target: ProblemTarget) => boolean): void {
    const mine = this.session.problems.filter(({ target }) => isMine(target));
    for (const { field, path } of this.bound) {
      field.setProblem(mine.find(({ target }) => startsWith(target.field, path)));
    }
  }

  focus(path: readonly string[]): void {
    const found = this.bound
      .filter((each) => startsWith(path, each.path))
      .sort((a, b) => b.path.length - a.path.length)[0];
    const target = found ?? this.bound[0];
    if (!target) return;
    target.field.element.closest('details')?.setAttribute('open', '');
    target.field.focus(found ? path.slice(found.path.length) : []);
  }
}

export function section(title: string, note: string, ...children: readonly HTMLElement[]): HTMLElement {
  const head = title ? html('h3', {}, title, !!note && html('span', { class: 'right' }, note)) : undefined;
  return html('section', { class: 'psec' }, head, ...children);
}

export function folded(title: string, open: boolean, ...children: readonly HTMLElement[]): HTMLDetailsElement {
  return html('details', { class: 'psec', open }, html('summary', {}, title), ...children);
}
