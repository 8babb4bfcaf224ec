/** A form as rows of fields, kept as the subset of JSON Schema that start and task forms use. */

import { text, withMembers } from '../model/definition';
import { isList, isObject, type JsonObject, type JsonValue, sameJson } from '../model/json';
import { html } from '../view/html';
import { icon, iconButton } from '../view/icons';
import type { ControlContext, MakeControl } from './field';

interface FormRow {
  name: string;
  /** The property's schema with all that this table doesn't show. */
  schema: JsonObject;
  required: boolean;
}

const TYPES = ['string', 'number', 'boolean', 'date'] as const;

function typeOf(schema: JsonObject): string {
  return schema.type === 'string' && schema.format === 'date' ? 'date' : text(schema.type) || 'string';
}

function withType(schema: JsonObject, type: string): JsonObject {
  return withMembers(schema, { type: type === 'date' ? 'string' : type, format: type === 'date' ? 'date' : undefined });
}

export function readForm(value: JsonValue | undefined): readonly FormRow[] {
  if (!isObject(value) || !isObject(value.properties)) return [];
  const required = isList(value.required) ? value.required : [];
  return Object.entries(value.properties).map(([name, schema]) => ({
    name,
    schema: isObject(schema) ? schema : {},
    required: required.includes(name),
  }));
}

/** The schema of the rows; members of the old one that this table doesn't show stay. */
export function writeForm(before: JsonValue | undefined, rows: readonly FormRow[]): JsonObject | undefined {
  const named = rows.filter(({ name }) => name !== '');
  if (named.length === 0) return undefined;
  const required = named.filter((row) => row.required).map(({ name }) => name);
  return withMembers(isObject(before) ? before : { type: 'object' }, {
    properties: Object.fromEntries(named.map(({ name, schema }) => [name, schema])),
    required: required.length > 0 ? required : undefined,
  });
}

class FormTable {
  readonly element = html('div', { class: 'form-table' });
  private rows: FormRow[] = [];
  private shown: JsonValue | undefined;

  constructor(private readonly context: ControlContext) {
    this.draw();
  }

  show(value: JsonValue | undefined): void {
    if (sameJson(value, this.shown)) return;
    this.shown = value;
    this.rows = readForm(value).map((row) => ({ ...row }));
    this.draw();
  }

  focus([, name]: readonly string[]): void {
    const index = Math.max(
      0,
      this.rows.findIndex((row) => row.name === name),
    );
    const row = this.element.querySelectorAll<HTMLElement>('.form-row')[index];
    (row ?? this.element).querySelector<HTMLElement>('input, button')?.focus();
  }

  private changed(): void {
    this.shown = writeForm(this.shown, this.rows);
    this.context.emit(this.shown);
  }

  private draw(): void {
    const { session } = this.context;
    const add = html(
      'button',
      {
        type: 'button',
        class: 'btn sm ghost',
        click: () => {
          this.rows.push({ name: '', schema: { type: 'string' }, required: false });
          this.draw();
          const rows = this.element.querySelectorAll('.form-row');
          rows[rows.length - 1]?.querySelector('input')?.focus();
        },
      },
      icon('plus'),
      session.t('designer.form.add'),
    );
    this.element.replaceChildren(...this.rows.map((row, i) => this.row(row, i)), ...(session.readOnly ? [] : [add]));
  }

  private move(from: number, to: number): void {
    const [row] = this.rows.splice(from, 1);
    if (row) this.rows.splice(to, 0, row);
    this.draw();
    this.changed();
  }

  private input(label: string, value: string, className: string, change: (value: string) => void): HTMLInputElement {
    const input = html('input', {
      class: className,
      'aria-label': label,
      placeholder: label,
      autocomplete: 'off',
      readonly: this.context.session.readOnly,
      input: () => {
        change(input.value);
        this.changed();
      },
    });
    input.value = value;
    return input;
  }

  private row(row: FormRow, index: number): HTMLElement {
    const { session } = this.context;
    const { t, readOnly } = session;
    const name = this.input(t('designer.field.name'), row.name, 'input mono', (value) => {
      row.name = value.trim();
    });
    const title = this.input(t('designer.variable.title'), text(row.schema.title), 'input', (value) => {
      row.schema = withMembers(row.schema, { title: value || undefined });
    });
    const type = html(
      'select',
      {
        class: 'select',
        'aria-label': t('designer.variable.type'),
        disabled: readOnly,
        change: () => {
          row.schema = withType(row.schema, type.value);
          this.changed();
        },
      },
      ...TYPES.map((each) => html('option', { value: each }, t(`designer.type.${each}`))),
    );
    type.value = typeOf(row.schema);
    const required = html('input', {
      type: 'checkbox',
      class: 'check',
      disabled: readOnly,
      change: () => {
        row.required = required.checked;
        this.changed();
      },
    });
    required.checked = row.required;
    const called = row.name || t('designer.field.row');
    const actions = html(
      'span',
      { class: 'row' },
      iconButton(t('designer.move_up', { name: called }), 'arrow-up', {
        class: 'xs',
        disabled: index === 0,
        click: () => this.move(index, index - 1),
      }),
      iconButton(t('designer.move_down', { name: called }), 'arrow-down', {
        class: 'xs',
        disabled: index === this.rows.length - 1,
        click: () => this.move(index, index + 1),
      }),
      iconButton(t('designer.field.remove', { name: called }), 'x', {
        class: 'xs',
        click: () => {
          this.rows.splice(index, 1);
          this.draw();
          this.changed();
        },
      }),
    );
    return html(
      'div',
      { class: 'form-row' },
      name,
      title,
      html('span', { class: 'select-wrap' }, type, icon('chevrons-up-down')),
      html('label', { class: 'check-row' }, required, t('designer.variable.required')),
      !readOnly && actions,
    );
  }
}

export const formControl: MakeControl = (context) => {
  const table = new FormTable(context);
  return {
    element: table.element,
    grouped: true,
    show: (value) => table.show(value),
    focus: (path) => table.focus(path),
  };
};
