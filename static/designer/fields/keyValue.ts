/** A table of names and values: literal values with a type, expressions, or templates. */
import type { TextKind } from '../model/expression';
import {
  isLosslessNumber,
  isObject,
  type JsonValue,
  jsonProblem,
  numberFromText,
  parseJson,
  sameJson,
  writeJson,
} from '../model/json';
import { freshId, html } from '../view/html';
import { icon, iconButton } from '../view/icons';
import { TextField } from './expression';
import type { ControlContext, MakeControl } from './field';
import { asText } from './plain';

interface Cell {
  readonly element: HTMLElement;
  focus(): void;
}

interface Row {
  name: string;
  value: JsonValue | undefined;
}

const TYPES = ['text', 'number', 'boolean', 'json'] as const;
type ValueType = (typeof TYPES)[number];

function typeOf(value: JsonValue | undefined): ValueType {
  if (isLosslessNumber(value)) return 'number';
  if (typeof value === 'boolean') return 'boolean';
  return typeof value === 'string' || value === undefined ? 'text' : 'json';
}

/** A value of a type from what was typed; undefined when it is none. */
function read(type: ValueType, typed: string): JsonValue | undefined {
  if (type === 'text') return typed;
  if (type === 'number') return numberFromText(typed);
  if (type === 'boolean') return typed === 'true';
  return jsonProblem(typed) ? undefined : parseJson(typed);
}

function written(value: JsonValue | undefined): string {
  return typeOf(value) === 'json' ? writeJson(value) : asText(value);
}

/** A literal value: its type, and an input that fits. */
function literalCell(
  { session, complain }: ControlContext,
  value: JsonValue | undefined,
  label: string,
  change: (value: JsonValue) => void,
): Cell {
  const { t } = session;
  let type = typeOf(value);
  let input: HTMLInputElement | HTMLSelectElement;
  const slot = html('span', { class: 'kv-value' });
  const typed = () => {
    const next = read(type, input.value);
    if (next === undefined) complain(t(type === 'number' ? 'designer.field.number' : 'designer.field.json_value'));
    else change(next);
  };
  const draw = (text: string) => {
    if (type === 'boolean') {
      input = html(
        'select',
        { class: 'select', 'aria-label': label, disabled: session.readOnly, change: typed },
        html('option', { value: 'true' }, t('designer.yes')),
        html('option', { value: 'false' }, t('designer.no')),
      );
      input.value = text === 'true' ? 'true' : 'false';
      slot.replaceChildren(html('span', { class: 'select-wrap' }, input, icon('chevrons-up-down')));
      return;
    }
    input = html('input', {
      class: type === 'text' ? 'input' : 'input mono',
      'aria-label': label,
      autocomplete: 'off',
      inputmode: type === 'number' ? 'decimal' : undefined,
      readonly: session.readOnly,
      input: typed,
    });
    input.value = text;
    slot.replaceChildren(input);
  };
  draw(written(value));
  const select = html(
    'select',
    {
      class: 'select kv-type',
      'aria-label': t('designer.field.type_of', { name: label }),
      disabled: session.readOnly,
      change: () => {
        type = select.value as ValueType;
        draw(input.value);
        typed();
      },
    },
    ...TYPES.map((each) => html('option', { value: each }, t(`designer.value.${each}`))),
  );
  select.value = type;
  const element = html(
    'div',
    { class: 'kv-literal' },
    html('span', { class: 'select-wrap' }, select, icon('chevrons-up-down')),
    slot,
  );
  return { element, focus: () => input.focus() };
}

function textCell(
  { session, complain }: ControlContext,
  kind: TextKind,
  value: JsonValue | undefined,
  label: string,
  change: (value: JsonValue) => void,
): Cell {
  const field = new TextField({ session, kind, id: freshId('value'), label, input: change, complain });
  field.show(asText(value));
  return field;
}

class Table {
  readonly element = html('div', { class: 'kv-table' });
  private rows: Row[] = [];
  private shown: JsonValue | undefined;

  constructor(private readonly context: ControlContext) {}

  show(value: JsonValue | undefined): void {
    if (sameJson(value, this.shown)) return;
    this.shown = value;
    this.rows = isObject(value) ? Object.entries(value).map(([name, each]) => ({ name, value: each })) : [];
    this.draw();
  }

  focus([name]: readonly string[]): void {
    const index = this.rows.findIndex((row) => row.name === name);
    const row = this.element.querySelectorAll<HTMLElement>('.kv-row')[Math.max(index, 0)];
    const inputs = row?.querySelectorAll<HTMLElement>('input, textarea');
    (index >= 0 ? inputs?.[inputs.length - 1] : inputs?.[0])?.focus();
    if (!row) this.element.querySelector('button')?.focus();
  }

  /** Rows without a name, and a second row with the same name, are not in the document yet. */
  private changed(): void {
    const value: Record<string, JsonValue> = {};
    for (const row of this.rows) {
      if (row.name !== '' && !Object.hasOwn(value, row.name)) value[row.name] = row.value ?? '';
    }
    this.shown = Object.keys(value).length === 0 ? undefined : value;
    this.context.emit(this.shown);
    const names = this.rows.map((row) => row.name).filter(Boolean);
    if (new Set(names).size < names.length) this.context.complain(this.context.session.t('designer.field.twice'));
  }

  private draw(): void {
    const { session } = this.context;
    const add = html(
      'button',
      { type: 'button', class: 'btn sm ghost', click: () => this.add() },
      icon('plus'),
      session.t('designer.field.add_row'),
    );
    this.element.replaceChildren(...this.rows.map((row) => this.row(row)), ...(session.readOnly ? [] : [add]));
  }

  private add(): void {
    this.rows.push({ name: '', value: '' });
    this.draw();
    const rows = this.element.querySelectorAll('.kv-row');
    rows[rows.length - 1]?.querySelector('input')?.focus();
  }

  private row(row: Row): HTMLElement {
    const { session, spec } = this.context;
    const { t } = session;
    const name = html('input', {
      class: 'input mono',
      'aria-label': t('designer.field.name'),
      placeholder: t('designer.field.name'),
      autocomplete: 'off',
      readonly: session.readOnly,
      input: () => {
        row.name = name.value.trim();
        this.changed();
      },
    });
    name.value = row.name;
    const change = (value: JsonValue) => {
      row.value = value;
      this.context.complain('');
      this.changed();
    };
    const label = t('designer.field.value_of', { field: spec.label });
    const kind = spec.kind === 'expression' ? 'expression' : spec.kind === 'template' ? 'template' : undefined;
    const cell = kind
      ? textCell(this.context, kind, row.value, label, change)
      : literalCell(this.context, row.value, label, change);
    const remove = iconButton(t('designer.field.remove', { name: row.name || t('designer.field.row') }), 'x', {
      click: () => {
        this.rows = this.rows.filter((each) => each !== row);
        this.draw();
        this.changed();
      },
    });
    return html('div', { class: 'kv-row' }, name, !session.readOnly && remove, cell.element);
  }
}

export const keyValueControl: MakeControl = (context) => {
  const table = new Table(context);
  table.show(undefined);
  // Without a value `show` has nothing to compare: the empty table is drawn once.
  if (!table.element.hasChildNodes()) table.show({});
  return {
    element: table.element,
    grouped: true,
    show: (value) => table.show(value ?? {}),
    focus: (path) => table.focus(path),
    mark: (bad) => table.element.classList.toggle('has-error', bad),
  };
};
