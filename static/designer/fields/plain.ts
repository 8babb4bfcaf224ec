/** Fields for plain values: text, long text, number, switch, choice, a workflow's name. */
import type { Option } from '../model/activities';
import { text } from '../model/definition';
import { isLosslessNumber, type JsonValue, numberFromText } from '../model/json';
import { textUnits } from '../model/text';
import { freshId, html } from '../view/html';
import { icon } from '../view/icons';
import type { Control, MakeControl } from './field';

/** A value as the text that is edited. */
export function asText(value: JsonValue | undefined): string {
  if (isLosslessNumber(value)) return value.value;
  if (typeof value === 'boolean') return String(value);
  return text(value);
}

/** Keeps the caret where it is when the value is the one that was just typed. */
export function setInput(input: HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement, value: string): void {
  if (input.value !== value) input.value = value;
}

function invalid(input: HTMLElement): (bad: boolean) => void {
  return (bad) => {
    input.classList.toggle('is-invalid', bad);
    if (bad) input.setAttribute('aria-invalid', 'true');
    else input.removeAttribute('aria-invalid');
  };
}

async function offer(list: HTMLDataListElement, offers: Promise<readonly Option[]> | undefined): Promise<void> {
  const found = (await offers) ?? [];
  list.replaceChildren(...found.map(({ value, title }) => html('option', { value, label: title })));
}

export const textControl: MakeControl = ({ session, spec, id, describedBy, emit }) => {
  const offered = spec.suggest === undefined ? undefined : html('datalist', { id: freshId('offered') });
  const input = html('input', {
    class: 'input',
    id,
    list: offered?.id,
    'aria-describedby': describedBy,
    autocomplete: 'off',
    placeholder: spec.placeholder ?? asText(spec.default),
    readonly: session.readOnly,
    input: () => emit(input.value === '' ? undefined : input.value),
    focus: () => {
      if (offered) void offer(offered, spec.suggest?.());
    },
  });
  return {
    element: offered ? html('span', { class: 'input-wrap' }, input, offered) : input,
    show: (value) => setInput(input, asText(value)),
    focus: () => input.focus(),
    mark: invalid(input),
  };
};

export const longTextControl: MakeControl = ({ session, spec, id, describedBy, emit }) => {
  const area = html('textarea', {
    class: 'area',
    id,
    rows: 3,
    placeholder: spec.placeholder,
    'aria-describedby': describedBy,
    readonly: session.readOnly,
    input: () => emit(area.value === '' ? undefined : area.value),
  });
  return {
    element: area,
    show: (value) => setInput(area, asText(value)),
    focus: () => area.focus(),
    mark: invalid(area),
  };
};

/** Digits stay as they are typed: the text becomes the number, never a binary one in between. */
export const numberControl: MakeControl = ({ session, spec, id, describedBy, emit, complain }) => {
  const input = html('input', {
    class: 'input',
    id,
    inputmode: 'decimal',
    'aria-describedby': describedBy,
    autocomplete: 'off',
    placeholder: spec.placeholder ?? asText(spec.default),
    readonly: session.readOnly,
    input: () => {
      const number = numberFromText(input.value);
      if (input.value.trim() === '') emit(undefined);
      else if (number) emit(number);
      else complain(session.t('designer.field.number'));
    },
  });
  return {
    element: input,
    show: (value) => {
      // What is typed but no number yet stays; so do digits like "1." on the way to "1.5".
      const typing = document.activeElement === input && numberFromText(input.value) === undefined;
      if (!typing) setInput(input, asText(value));
    },
    focus: () => input.focus(),
    mark: invalid(input),
  };
};

export const switchControl: MakeControl = ({ session, spec, id, describedBy, emit }) => {
  const preset = spec.default === true;
  const input = html('input', {
    type: 'checkbox',
    class: 'switch',
    role: 'switch',
    id,
    'aria-describedby': describedBy,
    disabled: session.readOnly,
    change: () => emit(input.checked === preset ? undefined : input.checked),
  });
  return {
    element: html('span', { class: 'switch-cell' }, input),
    show: (value) => {
      input.checked = typeof value === 'boolean' ? value : preset;
    },
    focus: () => input.focus(),
  };
};

function presetOf(value: JsonValue | undefined, fallback: JsonValue | undefined): string {
  return asText(value) || asText(fallback);
}

/** The option that a value means, whatever its case: documents of version 4 wrote `any` and `Any`. */
function optionOf(options: readonly { readonly value: string }[], value: string): string | undefined {
  return (
    options.find((option) => option.value === value) ??
    options.find((option) => option.value.toLowerCase() === value.toLowerCase())
  )?.value;
}

const segmentedControl: MakeControl = ({ session, spec, id, describedBy, emit }) => {
  const options = spec.options ?? [];
  const buttons = options.map(({ value, title }, i) =>
    html(
      'button',
      {
        type: 'button',
        role: 'radio',
        'aria-checked': 'false',
        id: i === 0 ? id : undefined,
        'aria-describedby': describedBy,
        'data-value': value,
        disabled: session.readOnly,
        click: () => choose(value),
        keydown: (event: KeyboardEvent) => {
          const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
          if (step === undefined) return;
          event.preventDefault();
          event.stopPropagation();
          const next = buttons[(i + step + buttons.length) % buttons.length];
          next?.focus();
          next?.click();
        },
      },
      title,
    ),
  );
  const select = (value: string) => {
    const chosen = optionOf(options, value);
    for (const button of buttons) {
      const on = button.dataset.value === chosen;
      button.setAttribute('aria-checked', String(on));
      button.tabIndex = on || (chosen === undefined && button === buttons[0]) ? 0 : -1;
    }
  };
  const choose = (value: string) => {
    select(value);
    emit(value === asText(spec.default) ? undefined : value);
  };
  return {
    element: html('div', { class: 'seg full', role: 'radiogroup', 'aria-label': spec.label }, ...buttons),
    grouped: true,
    show: (value) => select(presetOf(value, spec.default)),
    focus: () => (buttons.find((button) => button.tabIndex === 0) ?? buttons[0])?.focus(),
  };
};

const selectControl: MakeControl = ({ session, spec, id, describedBy, emit }) => {
  const options = spec.options ?? [];
  const select = html(
    'select',
    {
      class: 'select',
      id,
      'aria-describedby': describedBy,
      disabled: session.readOnly,
      change: () => emit(select.value === asText(spec.default) ? undefined : select.value || undefined),
    },
    ...options.map(({ value, title }) => html('option', { value }, title)),
  );
  return {
    element: html('span', { class: 'select-wrap' }, select, icon('chevrons-up-down')),
    show: (value) => {
      const wanted = presetOf(value, spec.default);
      const known = optionOf(options, wanted);
      select.querySelector('option[data-unknown]')?.remove();
      // A value that is no option (or a template) is shown, not lost.
      if (known === undefined) select.prepend(html('option', { value: wanted, 'data-unknown': true }, wanted || '–'));
      select.value = known ?? wanted;
    },
    focus: () => select.focus(),
    mark: invalid(select),
  };
};

/** A few short options stand side by side, more of them in a list. */
export const choiceControl: MakeControl = (context) => {
  const options = context.spec.options ?? [];
  if (context.spec.asList) return selectControl(context);
  const width = options.reduce((sum, { title }) => sum + textUnits(title) + 3, 0);
  return options.length > 0 && options.length <= 3 && width <= 42 ? segmentedControl(context) : selectControl(context);
};

/** The name of another workflow: chosen from those that are published, or typed before it is. */
export const definitionControl: MakeControl = (context): Control => {
  const { session, spec, id, describedBy, emit } = context;
  const listId = freshId('definitions');
  const list = html('datalist', { id: listId });
  const input = html('input', {
    class: 'input mono',
    id,
    list: listId,
    placeholder: spec.placeholder,
    'aria-describedby': describedBy,
    autocomplete: 'off',
    readonly: session.readOnly,
    input: () => emit(input.value === '' ? undefined : input.value),
    focus: () => void offer(list, session.definitions()),
  });
  return {
    element: html('span', { class: 'input-wrap' }, input, list),
    show: (value) => setInput(input, asText(value)),
    focus: () => input.focus(),
    mark: invalid(input),
  };
};
