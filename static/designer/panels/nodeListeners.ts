/** What a node tells people when it begins or ends: a row each, to add, edit, put in order and take away. */
import type { Session } from '../app/session';
import { type NodeDoc, text } from '../model/definition';
import type { Op } from '../model/history';
import type { JsonValue } from '../model/json';
import {
  addListener,
  DEFAULT_TITLE,
  listenersOf,
  moveListener,
  NOTIFICATION,
  OCCASIONS,
  RECIPIENTS,
  removeListener,
  setListener,
} from '../model/listeners';
import type { ProblemTarget } from '../model/problems';
import { html } from '../view/html';
import { icon, iconButton } from '../view/icons';
import { Fields, folded } from './panel';

export interface NodeListenersHost {
  node(): NodeDoc | undefined;
  /** The node's key: it changes with the node's id. */
  key(): string;
}

export class NodeListeners {
  readonly element: HTMLDetailsElement;
  private readonly rows = html('div', { class: 'rules' });
  private readonly add: HTMLButtonElement;
  private fields: Fields;
  /** The kinds of the listeners that are drawn: rows are made anew when these change. */
  private drawn = '';

  constructor(
    private readonly session: Session,
    private readonly host: NodeListenersHost,
    private readonly isMine: (target: ProblemTarget) => boolean,
  ) {
    const { t } = session;
    this.fields = new Fields(session);
    this.add = html(
      'button',
      { type: 'button', class: 'btn sm ghost', 'data-add-listener': true, click: () => this.append() },
      icon('plus'),
      t('designer.listener.add'),
    );
    this.element = folded(
      t('designer.listener.section'),
      listenersOf(host.node()).length > 0,
      html('p', { class: 'help' }, t('designer.listener.help', { name: RECIPIENTS })),
      this.rows,
      ...(session.readOnly ? [] : [html('div', { class: 'rule-add' }, this.add)]),
    );
    this.draw();
  }

  refresh(): void {
    if (this.kinds() === this.drawn) this.fields.refresh();
    else this.draw();
  }

  showProblems(): void {
    this.fields.showProblems(this.isMine);
  }

  focus(path: readonly string[]): void {
    this.element.open = true;
    if (listenersOf(this.host.node()).length > 0) this.fields.focus(path);
    else this.add.focus();
  }

  private kinds(): string {
    return JSON.stringify(listenersOf(this.host.node()).map(({ type }) => text(type)));
  }

  private draw(): void {
    this.fields = new Fields(this.session);
    const all = listenersOf(this.host.node());
    this.drawn = this.kinds();
    this.rows.replaceChildren(...all.map((each, i) => this.row(text(each.type), i, all.length)));
    this.rows.hidden = all.length === 0;
    this.showProblems();
  }

  private execute(label: string, ops: readonly Op[], merge?: string): void {
    this.session.execute(label, ops, merge);
    this.refresh();
  }

  private append(): void {
    const { session, host } = this;
    this.execute(session.t('designer.listener.add'), addListener(session.doc, host.key()));
    this.fields.focus(['listeners', String(listenersOf(host.node()).length - 1), 'expression']);
  }

  private move(from: number, to: number, label: string): void {
    const { session, host } = this;
    this.execute(label, moveListener(session.doc, host.key(), from, to));
    const buttons = this.rows.children[to]?.querySelectorAll<HTMLButtonElement>('[data-move]:not(:disabled)');
    const same = [...(buttons ?? [])].find(({ dataset }) => dataset.move === (to < from ? 'up' : 'down'));
    (same ?? buttons?.[0])?.focus();
  }

  private remove(index: number, label: string): void {
    const { session, host } = this;
    this.execute(label, removeListener(session.doc, host.key(), index));
    const left = this.rows.children.length;
    const next = this.rows.children[Math.min(index, left - 1)];
    (next?.querySelector<HTMLElement>('[data-remove]') ?? this.add).focus();
  }

  private row(type: string, index: number, count: number): HTMLElement {
    const { session } = this;
    const { t } = session;
    const name = t('designer.listener.one', { number: index + 1 });
    const head = html(
      'div',
      { class: 'row' },
      html('span', { class: 'tag' }, icon('megaphone'), name),
      html('span', { class: 'grow' }),
    );
    if (!session.readOnly) head.append(...this.actions(name, index, count));
    return html(
      'div',
      { class: 'rule', role: 'group', 'aria-label': name },
      head,
      // Another kind can only come with a document from elsewhere: shown, so that its problem has a place.
      type !== NOTIFICATION && this.choice(index, 'type', [NOTIFICATION]),
      this.choice(index, 'on', OCCASIONS),
      this.member(index, 'channel', { editor: 'text', default: DEFAULT_TITLE }, undefined),
      this.member(
        index,
        'expression',
        { editor: 'longText', kind: 'template', help: t('designer.listener.expression.help') },
        '',
      ),
    );
  }

  private actions(name: string, index: number, count: number): readonly HTMLElement[] {
    const { t } = this.session;
    const up = t('designer.move_up', { name });
    const down = t('designer.move_down', { name });
    const remove = t('designer.field.remove', { name });
    return [
      iconButton(up, 'arrow-up', {
        'data-move': 'up',
        disabled: index === 0,
        click: () => this.move(index, index - 1, up),
      }),
      iconButton(down, 'arrow-down', {
        'data-move': 'down',
        disabled: index === count - 1,
        click: () => this.move(index, index + 1, down),
      }),
      iconButton(remove, 'x', { 'data-remove': true, click: () => this.remove(index, remove) }),
    ];
  }

  private choice(index: number, member: string, values: readonly string[]): HTMLElement {
    const options = values.map((value) => ({ value, title: this.session.t(`designer.listener.${member}.${value}`) }));
    return this.member(index, member, { editor: 'choice', options, asList: values.length === 1 }, undefined);
  }

  /** A field of one member; `empty` is written when nothing is typed. */
  private member(
    index: number,
    member: string,
    spec: { readonly editor: 'choice' | 'text' | 'longText' } & Partial<Parameters<Fields['add']>[0]>,
    empty: JsonValue | undefined,
  ): HTMLElement {
    const { session, host } = this;
    const label = session.t(`designer.listener.${member}`);
    return this.fields.add(
      { kind: 'literal', ...spec, name: `listeners.${index}.${member}`, label },
      ['listeners', String(index), member],
      () => listenersOf(host.node())[index]?.[member] ?? undefined,
      (value) => {
        const ops = setListener(session.doc, host.key(), index, { [member]: value ?? empty });
        const step = session.t('designer.step.property', { name: label });
        this.execute(step, ops, `${host.key()}#listeners.${index}.${member}`);
      },
    );
  }
}
