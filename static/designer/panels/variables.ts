/** Variables of the workflow: what a start asks for. */
import type { Session } from '../app/session';
import { text, type VariableDoc } from '../model/definition';
import { addVariable, moveVariable, newVariable, removeVariable, setVariable } from '../model/edits';
import { isLosslessNumber, type JsonValue, jsonProblem, numberFromText, parseJson, writeJson } from '../model/json';
import { VARIABLE_TYPES } from '../model/variables';
import { html } from '../view/html';
import { icon, iconButton } from '../view/icons';

const NAME = /^[\p{L}_][\p{L}\p{Nd}_]*$/u;

/** A default value of a type from what was typed; undefined when it is none. */
export function readDefault(type: string, typed: string): JsonValue | undefined {
  if (type === 'number') return numberFromText(typed);
  if (type === 'boolean') return typed === 'true' ? true : typed === 'false' ? false : undefined;
  if (type === 'object' || type === 'array') return jsonProblem(typed) ? undefined : parseJson(typed);
  return typed;
}

function writtenDefault(value: JsonValue | undefined): string {
  if (value === undefined || value === null) return '';
  if (typeof value === 'string') return value;
  return isLosslessNumber(value) ? value.value : writeJson(value);
}

export class VariablesPanel {
  readonly element: HTMLElement;
  private readonly body = html('tbody');
  private readonly empty: HTMLElement;
  private readonly table: HTMLElement;
  private drawn: readonly VariableDoc[] = [];

  constructor(private readonly session: Session) {
    const { t } = session;
    const heads = ['name', 'title', 'type', 'required', 'default'].map((name) =>
      html('th', { scope: 'col' }, t(`designer.variable.${name}`)),
    );
    const add = html(
      'button',
      { type: 'button', class: 'btn sm', disabled: session.readOnly, click: () => this.add() },
      icon('plus'),
      t('designer.variable.add'),
    );
    this.empty = html('p', { class: 'none' }, t('designer.variable.none'));
    this.table = html(
      'table',
      { class: 'table variables' },
      html(
        'thead',
        {},
        html('tr', {}, ...heads, html('th', {}, html('span', { class: 'vh' }, t('designer.variable.actions')))),
      ),
      this.body,
    );
    this.element = html('div', { class: 'variables-panel' }, this.empty, this.table, !session.readOnly && add);
    this.refresh();
  }

  focus(index: number, field: readonly string[]): void {
    const row = this.body.rows[index];
    const name = field[0] === 'defaultValue' ? 'default' : (field[0] ?? 'name');
    const input =
      row?.querySelector<HTMLElement>(`[data-member="${name}"]`) ?? row?.querySelector<HTMLElement>('input');
    input?.focus();
    row?.scrollIntoView({ block: 'nearest' });
  }

  /** Rows are drawn anew when another number of them or another order is there; a typed-in row stays as it is. */
  refresh(): void {
    const { variables } = this.session.doc;
    this.empty.hidden = variables.length > 0;
    this.table.hidden = variables.length === 0;
    if (this.body.contains(document.activeElement) && variables.length === this.drawn.length) {
      this.drawn = variables;
      return;
    }
    if (variables === this.drawn && this.body.rows.length === variables.length) return;
    this.drawn = variables;
    this.body.replaceChildren(...variables.map((variable, i) => this.row(variable, i)));
  }

  /** Marks the cells that the server's problems are about. */
  showProblems(): void {
    for (const cell of this.body.querySelectorAll<HTMLElement>('.is-invalid')) {
      cell.classList.remove('is-invalid');
      cell.removeAttribute('title');
    }
    for (const { target, message } of this.session.problems) {
      if (target.kind !== 'variable') continue;
      const name = target.field[0] === 'defaultValue' ? 'default' : (target.field[0] ?? 'name');
      const cell = this.body.rows[target.index]?.querySelector<HTMLElement>(`[data-member="${name}"]`);
      cell?.classList.add('is-invalid');
      if (cell) cell.title = message;
    }
  }

  private redraw(): void {
    this.drawn = [];
    this.body.replaceChildren();
    this.refresh();
  }

  private add(): void {
    const { session } = this;
    session.execute(session.t('designer.variable.add'), addVariable(session.doc, newVariable(session.doc)));
    this.redraw();
    const input = this.body.rows[this.body.rows.length - 1]?.querySelector('input');
    input?.focus();
    input?.select();
  }

  private set(index: number, member: string, value: JsonValue | undefined): void {
    const { session } = this;
    const label = session.t('designer.step.property', { name: session.t('designer.variable') });
    session.execute(label, setVariable(session.doc, index, { [member]: value }), `variable.${index}.${member}`);
  }

  private input(
    index: number,
    name: string,
    value: string,
    change: (input: HTMLInputElement) => void,
  ): HTMLInputElement {
    const { session } = this;
    const variable = text(session.doc.variables[index]?.name);
    const input = html('input', {
      class: name === 'title' ? 'input' : 'input mono',
      'data-member': name,
      'aria-label': `${session.t(`designer.variable.${name}`)}, ${variable}`,
      autocomplete: 'off',
      readonly: session.readOnly,
      input: () => change(input),
      keydown: (event: KeyboardEvent) => {
        if (event.key === 'Escape') input.blur();
      },
    });
    input.value = value;
    return input;
  }

  private mark(input: HTMLElement, message: string): void {
    input.classList.toggle('is-invalid', message !== '');
    if (message) input.title = message;
    else input.removeAttribute('title');
    if (message) this.session.say(message);
  }

  private nameInput(variable: VariableDoc, index: number): HTMLInputElement {
    const { session } = this;
    return this.input(index, 'name', text(variable.name), (input) => {
      const name = input.value.trim();
      const twice = session.doc.variables.some((each, i) => i !== index && each.name === name);
      const wrong = !NAME.test(name) ? 'designer.variable.name.invalid' : twice ? 'designer.variable.name.twice' : '';
      this.mark(input, wrong && session.t(wrong));
      if (!wrong) this.set(index, 'name', name);
    });
  }

  private defaultInput(variable: VariableDoc, index: number): HTMLElement {
    const { session } = this;
    const { t } = session;
    const type = text(variable.type);
    if (type === 'boolean') {
      const select = html(
        'select',
        {
          class: 'select',
          'data-member': 'default',
          'aria-label': `${t('designer.variable.default')}, ${text(variable.name)}`,
          disabled: session.readOnly,
          change: () => this.set(index, 'defaultValue', readDefault('boolean', select.value)),
        },
        html('option', { value: '' }, '–'),
        html('option', { value: 'true' }, t('designer.yes')),
        html('option', { value: 'false' }, t('designer.no')),
      );
      select.value = writtenDefault(variable.defaultValue);
      return html('span', { class: 'select-wrap' }, select, icon('chevrons-up-down'));
    }
    return this.input(index, 'default', writtenDefault(variable.defaultValue), (input) => {
      const value = input.value === '' ? undefined : readDefault(type, input.value);
      const wrong = input.value !== '' && value === undefined;
      this.mark(input, wrong ? t(type === 'number' ? 'designer.field.number' : 'designer.field.json_value') : '');
      if (!wrong) this.set(index, 'defaultValue', value);
    });
  }

  private typeSelect(variable: VariableDoc, index: number): HTMLElement {
    const { session } = this;
    const { t } = session;
    const select = html(
      'select',
      {
        class: 'select',
        'data-member': 'type',
        'aria-label': `${t('designer.variable.type')}, ${text(variable.name)}`,
        disabled: session.readOnly,
        change: () => {
          this.set(index, 'type', select.value || undefined);
          this.redraw();
          this.focus(index, ['type']);
        },
      },
      html('option', { value: '' }, t('designer.type.any')),
      ...VARIABLE_TYPES.map((type) => html('option', { value: type }, t(`designer.type.${type}`))),
    );
    select.value = text(variable.type);
    return html('span', { class: 'select-wrap' }, select, icon('chevrons-up-down'));
  }

  private row(variable: VariableDoc, index: number): HTMLTableRowElement {
    const { session } = this;
    const { t, readOnly } = session;
    const required = html('input', {
      type: 'checkbox',
      class: 'check',
      'data-member': 'required',
      'aria-label': `${t('designer.variable.required')}, ${text(variable.name)}`,
      disabled: readOnly,
      change: () => this.set(index, 'required', required.checked || undefined),
    });
    required.checked = variable.required === true;
    const title = this.input(index, 'title', text(variable.title), (input) =>
      this.set(index, 'title', input.value || undefined),
    );
    const name = text(variable.name);
    const act = (label: string, ops: Parameters<Session['execute']>[1]) => {
      session.execute(label, ops);
      this.redraw();
    };
    const actions = html(
      'span',
      { class: 'row' },
      iconButton(t('designer.move_up', { name }), 'arrow-up', {
        class: 'xs',
        disabled: index === 0,
        click: () => act(t('designer.move_up', { name }), moveVariable(session.doc, index, index - 1)),
      }),
      iconButton(t('designer.variable.remove', { name }), 'trash-2', {
        class: 'xs',
        click: () => act(t('designer.variable.remove', { name }), removeVariable(session.doc, index)),
      }),
    );
    const cells = [
      this.nameInput(variable, index),
      title,
      this.typeSelect(variable, index),
      required,
      this.defaultInput(variable, index),
      readOnly ? '' : actions,
    ];
    return html('tr', {}, ...cells.map((cell) => html('td', {}, cell)));
  }
}
