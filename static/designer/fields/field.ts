/** A field of the property panel: label, control, help or error. The control of each editor has a file of its own. */
import type { Session } from '../app/session';
import type { EditorName, Kind, Option } from '../model/activities';
import type { Unit } from '../model/duration';
import type { JsonValue } from '../model/json';
import type { Problem } from '../model/problems';
import { freshId, html } from '../view/html';
import { icon } from '../view/icons';

export interface FieldSpec {
  /** Name under which problems and tests find the field. */
  readonly name: string;
  readonly label: string;
  readonly help?: string | undefined;
  readonly editor: EditorName;
  readonly kind: Kind;
  readonly required?: boolean;
  readonly default?: JsonValue | undefined;
  readonly options?: readonly Option[];
  readonly placeholder?: string | undefined;
  /** Unit that an empty time span begins with. */
  readonly unit?: Unit;
  /** A choice is drawn as a list even when few short options would fit side by side. */
  readonly asList?: boolean;
  /** What may be typed into a text, offered while it is. */
  readonly suggest?: (() => Promise<readonly Option[]>) | undefined;
}

export interface ControlContext {
  readonly session: Session;
  readonly spec: FieldSpec;
  /** Id that the label names; the control puts it on its first input. */
  readonly id: string;
  /** Id of help or error, for `aria-describedby`. */
  readonly describedBy: string;
  /** Reports a new value; undefined takes the property away. */
  emit(value: JsonValue | undefined): void;
  /** Shows what is wrong with what was typed, without a server. */
  complain(message: string): void;
}

export interface Control {
  readonly element: HTMLElement;
  /** True when the label is a caption of several controls rather than the name of one. */
  readonly grouped?: boolean;
  show(value: JsonValue | undefined): void;
  focus(path: readonly string[]): void;
  /** Marks the place that a server's message is about; without it the whole field is marked. */
  mark?(invalid: boolean): void;
}

export type MakeControl = (context: ControlContext) => Control;

/** A label with its control and the line below, kept up to date with the document and the server's problems. */
export class Field {
  readonly element: HTMLElement;
  private readonly control: Control;
  private readonly line: HTMLElement;
  private complaint = '';
  private problem: Problem | undefined;

  constructor(
    session: Session,
    readonly spec: FieldSpec,
    make: MakeControl,
    emit: (value: JsonValue | undefined) => void,
  ) {
    const id = freshId('field');
    const describedBy = freshId('about');
    this.line = html('span', { class: 'help', id: describedBy });
    this.control = make({
      session,
      spec,
      id,
      describedBy,
      emit: (value) => {
        this.complain('');
        emit(value);
      },
      complain: (message) => this.complain(message),
    });
    const caption = [
      spec.label,
      spec.required ? html('span', { class: 'req', 'aria-hidden': 'true' }, '*') : undefined,
      spec.required ? html('span', { class: 'vh' }, session.t('designer.field.required')) : undefined,
    ];
    if (this.control.grouped) {
      const label = html('span', { class: 'lab', id: `${id}-label` }, ...caption);
      const box = html('div', { role: 'group', 'aria-labelledby': `${id}-label`, 'aria-describedby': describedBy });
      box.append(this.control.element);
      this.element = html('div', { class: 'field', 'data-field': spec.name }, label, box, this.line);
    } else {
      const label = html('label', { for: id }, ...caption);
      this.element = html('div', { class: 'field', 'data-field': spec.name }, label, this.control.element, this.line);
    }
    this.drawLine();
  }

  show(value: JsonValue | undefined): void {
    this.control.show(value);
  }

  focus(path: readonly string[]): void {
    this.element.scrollIntoView({ block: 'nearest' });
    this.control.focus(path);
  }

  /** What the server says about this field: an error marks it, a warning only stands below. */
  setProblem(problem: Problem | undefined): void {
    if (problem?.message === this.problem?.message && problem?.severity === this.problem?.severity) return;
    this.problem = problem;
    this.drawLine();
  }

  private complain(message: string): void {
    if (message === this.complaint) return;
    this.complaint = message;
    this.drawLine();
  }

  private drawLine(): void {
    const message = this.complaint || this.problem?.message || '';
    const warning = !this.complaint && this.problem?.severity === 'warning';
    this.line.className = message ? (warning ? 'warn' : 'err') : 'help';
    if (message)
      this.line.replaceChildren(icon(warning ? 'triangle-alert' : 'circle-alert'), html('span', {}, message));
    else this.line.replaceChildren(this.spec.help ?? '');
    this.line.hidden = !message && !this.spec.help;
    this.element.classList.toggle('has-error', message !== '' && !warning);
    this.control.mark?.(message !== '' && !warning);
  }
}
