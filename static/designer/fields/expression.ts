/** Expression, condition and template: a real text area with colours under it, suggestions, and the server's check. */
import type { Session } from '../app/session';
import {
  accept,
  type Completion,
  complete,
  type Suggestion,
  type TextKind,
  type TokenKind,
  tokens,
} from '../model/expression';
import type { TextProblem } from '../model/problems';
import { fill, freshId, html } from '../view/html';
import type { MakeControl } from './field';
import { asText, setInput } from './plain';

const COLOURS: Readonly<Partial<Record<TokenKind, string>>> = {
  name: 'sx-n',
  function: 'sx-f',
  text: 'sx-s',
  number: 'sx-d',
  keyword: 'sx-d',
  operator: 'sx-o',
  bad: 'sx-e',
};

const CHECK_AFTER_MS = 400;

const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d/;

/** Where a line and column (both from 1, in UTF-16 units) lie in a text. */
function offsetOf(source: string, { line, column }: TextProblem): number {
  const lines = source.split('\n');
  const before = lines.slice(0, line - 1).reduce((sum, each) => sum + each.length + 1, 0);
  return Math.min(before + column - 1, source.length);
}

export interface TextFieldOptions {
  readonly session: Session;
  readonly kind: TextKind;
  readonly id: string;
  readonly describedBy?: string;
  readonly label?: string;
  readonly placeholder?: string;
  /** Line breaks belong to the text: messages, bodies. */
  readonly multiline?: boolean;
  /** An instant may stand where an expression may: it is not one and is not checked as one. */
  readonly orInstant?: boolean;
  readonly input: (text: string) => void;
  readonly complain: (message: string) => void;
}

/** The text area with everything round it. */
export class TextField {
  readonly element: HTMLElement;
  private readonly area: HTMLTextAreaElement;
  private readonly paint = html('div', { class: 'expr-paint', 'aria-hidden': 'true' });
  private readonly list: HTMLElement;
  private readonly about = html('p', { class: 'doc' });
  private readonly popup: HTMLElement;
  private completion: Completion | undefined;
  private active = 0;
  private problems: readonly TextProblem[] = [];
  private checks = 0;
  private timer = 0;

  constructor(private readonly options: TextFieldOptions) {
    const { session, kind, id, describedBy, label } = options;
    const listId = freshId('suggestions');
    this.area = html('textarea', {
      id,
      rows: 1,
      spellcheck: 'false',
      autocomplete: 'off',
      autocapitalize: 'off',
      'aria-label': label,
      'aria-describedby': describedBy,
      'aria-autocomplete': 'list',
      'aria-haspopup': 'listbox',
      'aria-controls': listId,
      placeholder: options.placeholder,
      readonly: session.readOnly,
      input: () => this.typed(),
      keydown: (event: KeyboardEvent) => this.key(event),
      click: () => this.close(),
      focus: () => this.check(),
      blur: () => this.close(),
    });
    this.list = html('ul', { id: listId, role: 'listbox', 'aria-label': session.t('designer.field.suggestions') });
    this.popup = html('div', { class: 'complete', hidden: true }, this.list, this.about);
    // Choosing with the pointer must not take the focus out of the field.
    this.popup.addEventListener('mousedown', (event) => event.preventDefault());
    const mark = html('span', { class: 'fx', 'aria-hidden': 'true' }, kind === 'template' ? 'T' : 'fx');
    const box = html('div', { class: 'expr' }, this.paint, this.area, mark);
    this.element = html('div', { class: 'expr-field' }, box, this.popup);
  }

  get value(): string {
    return this.area.value;
  }

  show(value: string): void {
    if (this.area.value === value) return;
    setInput(this.area, value);
    this.problems = [];
    this.draw();
  }

  focus(): void {
    this.area.focus();
  }

  mark(bad: boolean): void {
    this.element.classList.toggle('is-bad', bad);
    if (bad) this.area.setAttribute('aria-invalid', 'true');
    else this.area.removeAttribute('aria-invalid');
  }

  private typed(): void {
    this.problems = [];
    this.options.complain('');
    this.options.input(this.area.value);
    this.draw();
    this.suggest(false);
    this.check();
  }

  private draw(): void {
    const source = this.area.value;
    const wrong = new Set(this.problems.map((problem) => offsetOf(source, problem)));
    const spans = tokens(source, this.options.kind).map(({ kind, from, to }) => {
      const marked = [...wrong].some((offset) => offset >= from && offset < to);
      const className = [COLOURS[kind], marked ? 'sx-e' : undefined].filter(Boolean).join(' ');
      const text = source.slice(from, to);
      return className ? html('span', { class: className }, text) : text;
    });
    const atEnd = wrong.has(source.length) && source.length > 0;
    // A last empty line needs a character of its own to have a height.
    fill(this.paint, ...spans, atEnd && html('span', { class: 'sx-e' }, ' '), source.endsWith('\n') && '​');
  }

  /** Asks the server a moment after the last key; an answer to an older text is dropped. */
  private check(): void {
    window.clearTimeout(this.timer);
    this.checks += 1;
    const ticket = this.checks;
    this.timer = window.setTimeout(() => void this.ask(ticket), CHECK_AFTER_MS);
  }

  private async ask(ticket: number): Promise<void> {
    const source = this.area.value;
    const { session, kind, complain } = this.options;
    const unchecked = source.trim() === '' || (this.options.orInstant && INSTANT.test(source.trim()));
    const problems = unchecked ? [] : await session.check(source, kind);
    if (ticket !== this.checks || this.area.value !== source) return;
    this.problems = problems;
    this.draw();
    const [first] = problems;
    if (first) {
      const where = source.includes('\n') ? 'designer.field.at_line' : 'designer.field.at_column';
      complain(session.t(where, { line: first.line, column: first.column, message: first.message }));
    } else {
      complain('');
    }
  }

  private key(event: KeyboardEvent): void {
    if (event.isComposing) return;
    if (event.key === ' ' && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      this.suggest(true);
    } else if (this.completion && this.listKey(event)) {
      event.preventDefault();
      event.stopPropagation();
    } else if (event.key === 'Enter' && !this.options.multiline && !event.shiftKey) {
      event.preventDefault();
    } else if (event.key === 'Escape') {
      event.preventDefault();
      event.stopPropagation();
      this.area.blur();
    }
  }

  /** Keys while the list is open; true when the key was for the list. */
  private listKey(event: KeyboardEvent): boolean {
    const { suggestions } = this.completion as Completion;
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      const step = event.key === 'ArrowDown' ? 1 : -1;
      this.active = (this.active + step + suggestions.length) % suggestions.length;
      this.drawList();
      return true;
    }
    if (event.key === 'Enter' || event.key === 'Tab') {
      this.take(suggestions[this.active] as Suggestion);
      return true;
    }
    if (event.key === 'Escape') {
      this.close();
      return true;
    }
    return false;
  }

  private suggest(all: boolean): void {
    const { session, kind } = this.options;
    this.completion = session.readOnly
      ? undefined
      : complete(this.area.value, this.area.selectionStart, kind, session.variables(), all);
    this.active = 0;
    this.drawList();
  }

  private close(): void {
    this.completion = undefined;
    this.drawList();
  }

  private take(chosen: Suggestion): void {
    if (!this.completion) return;
    const { text, caret } = accept(this.area.value, this.completion, chosen);
    this.area.value = text;
    this.area.setSelectionRange(caret, caret);
    this.close();
    this.problems = [];
    this.options.input(text);
    this.draw();
    this.check();
  }

  private drawList(): void {
    const open = this.completion !== undefined;
    this.popup.hidden = !open;
    if (!this.completion) {
      this.area.removeAttribute('aria-activedescendant');
      this.list.replaceChildren();
      return;
    }
    const { suggestions, word } = this.completion;
    const rows = suggestions.map((each, i) => this.row(each, i, word));
    const about = suggestions[this.active];
    const { t } = this.options.session;
    const doc = about?.kind === 'function' ? t(`designer.function.${about.name}`) : '';
    fill(this.list, ...rows);
    this.about.textContent = doc;
    this.about.hidden = doc === '';
    this.area.setAttribute('aria-activedescendant', rows[this.active]?.id ?? '');
    rows[this.active]?.scrollIntoView({ block: 'nearest' });
  }

  private row(each: Suggestion, index: number, word: string): HTMLLIElement {
    const at = each.name.toLowerCase().indexOf(word.toLowerCase());
    const name =
      word && at >= 0
        ? html(
            'span',
            {},
            each.name.slice(0, at),
            html('mark', {}, each.name.slice(at, at + word.length)),
            each.name.slice(at + word.length),
          )
        : html('span', {}, each.name);
    const kind = { variable: 'v', function: 'ƒ', keyword: 'k' }[each.kind];
    return html(
      'li',
      {
        id: `${this.list.id}-${index}`,
        role: 'option',
        'aria-selected': String(index === this.active),
        click: () => this.take(each),
      },
      html('span', { class: 'k', 'aria-hidden': 'true' }, kind),
      name,
      html('span', { class: 'ty' }, each.detail),
    );
  }
}

function control(kind: TextKind, multiline = false): MakeControl {
  return ({ session, spec, id, describedBy, emit, complain }) => {
    const field = new TextField({
      session,
      kind,
      id,
      describedBy,
      placeholder: spec.placeholder ?? asText(spec.default),
      multiline,
      orInstant: spec.kind === 'literalOrExpression',
      input: (value) => emit(value === '' ? undefined : value),
      complain,
    });
    return {
      element: field.element,
      show: (value) => field.show(asText(value)),
      focus: () => field.focus(),
      mark: (bad) => field.mark(bad),
    };
  };
}

export const expressionControl = control('expression');
export const conditionControl = control('condition');
export const templateControl = control('template');
export const longTemplateControl = control('template', true);
