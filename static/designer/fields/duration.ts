/** A time span in the unit people think in; an expression where the property takes one. */
import { fromDays, fromSeconds, toDays, toSeconds, UNITS, type Unit } from '../model/duration';
import { isLosslessNumber, numberFromText } from '../model/json';
import { html } from '../view/html';
import { icon, iconButton } from '../view/icons';
import { TextField } from './expression';
import type { MakeControl } from './field';
import { asText, setInput } from './plain';

export const durationControl: MakeControl = (context) => {
  const { session, spec, id, describedBy, emit, complain } = context;
  const { t } = session;
  const spans = spec.kind === 'literalOrExpression';
  const amount = html('input', {
    class: 'input',
    id,
    inputmode: 'decimal',
    autocomplete: 'off',
    'aria-describedby': describedBy,
    placeholder: spec.default === undefined ? '' : fromSeconds(asText(spec.default)).amount,
    readonly: session.readOnly,
    input: () => typed(),
  });
  const unit = html(
    'select',
    {
      class: 'select',
      'aria-label': t('designer.field.unit', { field: spec.label }),
      disabled: session.readOnly,
      change: () => typed(),
    },
    ...UNITS.map((each) => html('option', { value: each }, t(`designer.unit.${each}`))),
  );
  unit.value = spec.unit ?? 'seconds';
  const typed = () => {
    if (amount.value.trim() === '') {
      emit(undefined);
      return;
    }
    const days = spans ? toDays(amount.value, unit.value as Unit) : undefined;
    const seconds = days ?? toSeconds(amount.value, unit.value as Unit);
    if (seconds) emit(seconds);
    else complain(t('designer.field.number'));
  };
  const span = html(
    'div',
    { class: 'duration' },
    amount,
    html('span', { class: 'select-wrap' }, unit, icon('chevrons-up-down')),
  );
  const show = (value: Parameters<ReturnType<MakeControl>['show']>[0]) => {
    const days = typeof value === 'string' ? fromDays(value) : undefined;
    if (days !== undefined) {
      if (toDays(amount.value, unit.value as Unit) === value) return;
      setInput(amount, days);
      unit.value = 'days';
      return;
    }
    if (!isLosslessNumber(value)) {
      if (document.activeElement !== amount) setInput(amount, '');
      return;
    }
    // Nothing is turned into another unit while it is being typed.
    if (toSeconds(amount.value, unit.value as Unit)?.value === value.value) return;
    const shown = fromSeconds(value.value, spans ? 'hours' : 'days');
    setInput(amount, shown.amount);
    unit.value = shown.unit;
  };
  if (!spans) return { element: span, show, focus: () => amount.focus() };
  return withExpression(context, { span, amount, show });
};

/** Adds the switch between a fixed span and an expression that gives seconds. */
function withExpression(
  { session, spec, describedBy, emit, complain }: Parameters<MakeControl>[0],
  fixed: {
    readonly span: HTMLElement;
    readonly amount: HTMLInputElement;
    show(value: Parameters<ReturnType<MakeControl>['show']>[0]): void;
  },
): ReturnType<MakeControl> {
  const { t } = session;
  const field = new TextField({
    session,
    kind: 'expression',
    id: `${fixed.amount.id}-x`,
    describedBy,
    label: t('designer.field.seconds_expression', { field: spec.label }),
    input: (value) => emit(value === '' ? undefined : (numberFromText(value) ?? value)),
    complain,
  });
  let computed = false;
  const toggle = iconButton(t('designer.field.as_expression'), 'braces', {
    'aria-pressed': 'false',
    disabled: session.readOnly,
    click: () => {
      change(!computed);
      emit(undefined);
      if (computed) field.focus();
      else fixed.amount.focus();
    },
  });
  const change = (to: boolean) => {
    computed = to;
    fixed.span.hidden = to;
    field.element.hidden = !to;
    toggle.setAttribute('aria-pressed', String(to));
  };
  change(false);
  return {
    element: html('div', { class: 'with-toggle' }, fixed.span, field.element, toggle),
    show: (value) => {
      const typing = document.activeElement?.closest('.expr-field') === field.element;
      if (typeof value === 'string' && value !== '' && (fromDays(value) === undefined || (computed && typing))) {
        if (!computed) change(true);
        field.show(value);
      } else {
        // A plain number typed into the expression stays there until the panel is opened again.
        if (computed && value !== undefined && typing) return;
        if (computed && value !== undefined) change(false);
        if (computed) field.show('');
        fixed.show(value);
      }
    },
    focus: () => (computed ? field.focus() : fixed.amount.focus()),
    mark: (bad) => field.mark(bad && computed),
  };
}
