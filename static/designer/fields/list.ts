/** A list of texts as chips: typed and taken with Enter or comma, or chosen where the choices are known. */
import { isList, type JsonValue, sameJson } from '../model/json';
import { html } from '../view/html';
import { iconButton } from '../view/icons';
import type { MakeControl } from './field';
import { asText } from './plain';

export function textsOf(value: JsonValue | undefined): readonly string[] {
  return isList(value) ? value.map(asText) : [];
}

export interface ChipsOptions {
  readonly id: string;
  readonly label: string;
  readonly describedBy?: string;
  readonly readOnly: boolean;
  readonly placeholder?: string;
  readonly removeLabel: (text: string) => string;
  readonly change: (texts: readonly string[]) => void;
}

/** Chips with an input behind them. */
export class Chips {
  readonly element: HTMLElement;
  private readonly input: HTMLInputElement;
  private texts: readonly string[] = [];

  constructor(private readonly options: ChipsOptions) {
    this.input = html('input', {
      id: options.id,
      'aria-label': options.label,
      'aria-describedby': options.describedBy,
      autocomplete: 'off',
      readonly: options.readOnly,
      placeholder: options.readOnly ? undefined : options.placeholder,
      keydown: (event: KeyboardEvent) => this.key(event),
      blur: () => this.take(),
      paste: (event: ClipboardEvent) => this.pasted(event),
    });
    this.element = html('div', { class: 'chips-input', mousedown: (event: MouseEvent) => this.aim(event) }, this.input);
  }

  show(texts: readonly string[]): void {
    if (sameJson([...texts], [...this.texts])) return;
    this.texts = texts;
    this.draw();
  }

  focus(): void {
    this.input.focus();
  }

  private aim(event: MouseEvent): void {
    if (event.target !== this.element) return;
    event.preventDefault();
    this.input.focus();
  }

  private draw(): void {
    const chips = this.texts.map((text, i) =>
      html(
        'span',
        { class: 'chip on' },
        html('span', { class: 'ellip' }, text),
        !this.options.readOnly &&
          iconButton(this.options.removeLabel(text), 'x', {
            class: 'xs',
            click: () => {
              this.change(this.texts.filter((_, at) => at !== i));
              this.input.focus();
            },
          }),
      ),
    );
    for (const old of this.element.querySelectorAll('.chip')) old.remove();
    this.input.before(...chips);
  }

  private change(texts: readonly string[]): void {
    this.texts = texts;
    this.draw();
    this.options.change(texts);
  }

  private add(words: readonly string[]): void {
    const fresh = words.map((word) => word.trim()).filter((word) => word !== '' && !this.texts.includes(word));
    if (fresh.length > 0) this.change([...this.texts, ...new Set(fresh)]);
  }

  private take(): void {
    this.add(this.input.value.split(/[,，、]/));
    this.input.value = '';
  }

  private pasted(event: ClipboardEvent): void {
    const words = (event.clipboardData?.getData('text') ?? '').split(/[\n,，、]/);
    if (words.length < 2) return;
    event.preventDefault();
    this.add(words);
  }

  private key(event: KeyboardEvent): void {
    if (event.isComposing) return;
    if (event.key === 'Enter' || event.key === ',' || event.key === '，') {
      event.preventDefault();
      this.take();
    } else if (event.key === 'Backspace' && this.input.value === '' && this.texts.length > 0) {
      event.preventDefault();
      this.change(this.texts.slice(0, -1));
    } else if (event.key === 'Escape') {
      this.input.blur();
    }
  }
}

const chipsControl: MakeControl = ({ session, spec, id, describedBy, emit }) => {
  const chips = new Chips({
    id,
    label: spec.label,
    describedBy,
    readOnly: session.readOnly,
    placeholder: session.t('designer.field.list_hint'),
    removeLabel: (text) => session.t('designer.field.remove', { name: text }),
    change: (texts) => emit(texts.length === 0 ? undefined : [...texts]),
  });
  return {
    element: chips.element,
    show: (value) => chips.show(textsOf(value)),
    focus: () => chips.focus(),
    mark: (bad) => chips.element.classList.toggle('is-invalid', bad),
  };
};

const checksControl: MakeControl = ({ session, spec, id, describedBy, emit }) => {
  let current: readonly string[] = [];
  const boxes = (spec.options ?? []).map(({ value, title }, i) => {
    const box = html('input', {
      type: 'checkbox',
      class: 'check',
      id: i === 0 ? id : undefined,
      'aria-describedby': describedBy,
      value,
      disabled: session.readOnly,
      change: () => {
        current = box.checked ? [...current, value] : current.filter((each) => each !== value);
        emit(current.length === 0 ? undefined : [...current]);
      },
    });
    return { box, row: html('label', { class: 'check-row' }, box, title) };
  });
  return {
    element: html('div', { class: 'checks' }, ...boxes.map(({ row }) => row)),
    grouped: true,
    show: (value) => {
      current = textsOf(value);
      for (const { box } of boxes) box.checked = current.includes(box.value);
    },
    focus: () => boxes[0]?.box.focus(),
  };
};

export const listControl: MakeControl = (context) =>
  context.spec.options?.length ? checksControl(context) : chipsControl(context);
