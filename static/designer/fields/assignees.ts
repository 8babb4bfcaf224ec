/** Who decides: rules that name people, the starter, or compute names. */

import { text, withMembers } from '../model/definition';
import { isList, isObject, type JsonObject, type JsonValue, sameJson } from '../model/json';
import { freshId, html } from '../view/html';
import { icon, iconButton } from '../view/icons';
import { TextField } from './expression';
import type { ControlContext, MakeControl } from './field';
import { Chips, textsOf } from './list';

const ICONS: Readonly<Record<string, string>> = {
  User: 'user',
  Starter: 'user-check',
  Expression: 'braces',
  CompletedBy: 'history',
};
const BUILT_IN = ['User', 'Starter', 'Expression', 'CompletedBy'] as const;
/** Rules that may name groups, whose members then claim the task. */
const CLAIMABLE: readonly string[] = ['User', 'Expression'];

class Rules {
  readonly element = html('div', { class: 'rules' });
  private rules: readonly JsonObject[] = [];
  private shown: JsonValue | undefined;

  constructor(private readonly context: ControlContext) {
    this.draw();
  }

  show(value: JsonValue | undefined): void {
    if (sameJson(value, this.shown)) return;
    this.shown = value;
    this.rules = isList(value) ? value.filter(isObject) : [];
    this.draw();
  }

  focus([index]: readonly string[]): void {
    const rule = this.element.querySelectorAll<HTMLElement>('.rule')[Number(index ?? 0)];
    const target =
      rule?.querySelector<HTMLElement>('textarea, input') ?? this.element.querySelector<HTMLElement>('button');
    target?.focus();
  }

  private types(): readonly { readonly value: string; readonly title: string }[] {
    const { spec, session } = this.context;
    if (spec.options?.length) return spec.options;
    return BUILT_IN.map((value) => ({ value, title: session.t(`designer.rule.${value}`) }));
  }

  private titleOf(type: string): string {
    return this.types().find((each) => each.value === type)?.title ?? type;
  }

  private set(index: number, rule: JsonObject): void {
    this.store(this.rules.map((each, i) => (i === index ? rule : each)));
  }

  private store(rules: readonly JsonObject[]): void {
    this.rules = rules;
    this.shown = rules.length === 0 ? undefined : rules;
    this.context.emit(this.shown);
  }

  private draw(): void {
    const { session } = this.context;
    const rows = this.rules.map((rule, i) => this.rule(rule, i));
    this.element.replaceChildren(...rows, ...(session.readOnly ? [] : [this.adder()]));
  }

  private adder(): HTMLElement {
    const { t } = this.context.session;
    const buttons = this.types().map(({ value, title }) =>
      html(
        'button',
        {
          type: 'button',
          class: 'btn sm ghost',
          'data-rule': value,
          'aria-label': t('designer.rule.add', { name: title }),
          click: () => this.add(value),
        },
        icon('plus'),
        title,
      ),
    );
    return html('div', { class: 'rule-add' }, ...buttons);
  }

  private add(type: string): void {
    this.store([...this.rules, { type, values: type === 'Expression' ? [''] : [] }]);
    this.draw();
    this.focus([String(this.rules.length - 1)]);
  }

  private rule(rule: JsonObject, index: number): HTMLElement {
    const { session } = this.context;
    const type = text(rule.type);
    const title = this.titleOf(type);
    const remove = iconButton(session.t('designer.rule.remove', { name: title }), 'x', {
      click: () => {
        this.store(this.rules.filter((_, i) => i !== index));
        this.draw();
      },
    });
    const tag = html(
      'span',
      { class: type === 'Expression' ? 'tag accent' : 'tag' },
      icon(ICONS[type] ?? 'users'),
      title,
    );
    const head = html('div', { class: 'row' }, tag, html('span', { class: 'grow' }), !session.readOnly && remove);
    const body =
      type === 'Starter' ? undefined : type === 'Expression' ? this.expressions(rule, index) : this.people(rule, index);
    const groups = CLAIMABLE.includes(type) || rule.claimable === true ? [this.claimable(rule, index)] : [];
    return html('div', { class: 'rule', 'data-rule': type }, head, ...(body ?? []), ...groups);
  }

  private claimable(rule: JsonObject, index: number): HTMLElement {
    const { session } = this.context;
    const box = html('input', {
      type: 'checkbox',
      class: 'check',
      disabled: session.readOnly,
      change: () =>
        this.set(index, withMembers(this.rules[index] as JsonObject, { claimable: box.checked || undefined })),
    });
    box.checked = rule.claimable === true;
    return html('label', { class: 'check-row' }, box, session.t('designer.rule.claimable'));
  }

  private people(rule: JsonObject, index: number): readonly HTMLElement[] {
    const { session } = this.context;
    const chips = new Chips({
      id: freshId('people'),
      label: session.t(rule.type === 'User' ? 'designer.rule.people' : 'designer.rule.values', {
        name: this.titleOf(text(rule.type)),
      }),
      readOnly: session.readOnly,
      placeholder: session.t(rule.type === 'CompletedBy' ? 'designer.rule.steps_hint' : 'designer.rule.people_hint'),
      removeLabel: (name) => session.t('designer.field.remove', { name }),
      change: (values) => this.set(index, withMembers(this.rules[index] as JsonObject, { values: [...values] })),
    });
    chips.show(textsOf(rule.values));
    return [chips.element];
  }

  private expressions(rule: JsonObject, index: number): readonly HTMLElement[] {
    const { session, complain } = this.context;
    const values = textsOf(rule.values).length > 0 ? textsOf(rule.values) : [''];
    return values.map((value, at) => {
      const field = new TextField({
        session,
        kind: 'expression',
        id: freshId('rule'),
        label: session.t('designer.rule.expression'),
        placeholder: session.t('designer.rule.expression_hint'),
        input: (typed) => {
          const current = this.rules[index] as JsonObject;
          const all = textsOf(current.values).length > 0 ? textsOf(current.values) : [''];
          this.set(index, withMembers(current, { values: all.map((each, i) => (i === at ? typed : each)) }));
        },
        complain,
      });
      field.show(value);
      return field.element;
    });
  }
}

export const assigneeRulesControl: MakeControl = (context) => {
  const rules = new Rules(context);
  return {
    element: rules.element,
    grouped: true,
    show: (value) => rules.show(value),
    focus: (path) => rules.focus(path),
    mark: (bad) => rules.element.classList.toggle('has-error', bad),
  };
};
