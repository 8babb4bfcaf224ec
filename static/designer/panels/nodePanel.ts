/** Properties of one node: name and id, what its descriptor lists, and what every node has. */
import type { Session } from '../app/session';
import { type PropertyDescriptor, propertyKey, propertyValue } from '../model/activities';
import { type NodeDoc, nodeName, nodeOf, text } from '../model/definition';
import { renameNode, setNode, setProperty } from '../model/edits';
import { isObject, type JsonValue } from '../model/json';
import type { ProblemTarget } from '../model/problems';
import { html } from '../view/html';
import { icon } from '../view/icons';
import { NodeListeners } from './nodeListeners';
import { NodeSettings } from './nodeSettings';
import { Fields, folded, type Panel, section } from './panel';

const ID = /^[A-Za-z0-9_][A-Za-z0-9_.:-]{0,127}$/;

/** Older spellings of what another property says: shown only where a document uses them. */
const COVERED: Readonly<Record<string, readonly string[]>> = { UserTask: ['Assignees', 'AssigneesExpression'] };

/** An activity with more properties than this shows the sections that most nodes leave alone folded. */
const LONG = 12;
const OPEN = ['setup', 'people'];

const SECTIONS = ['setup', 'people', 'decision', 'data', 'time'];

export class NodePanel implements Panel {
  readonly element: HTMLElement;
  private readonly fields: Fields;
  private readonly listeners: NodeListeners;
  private readonly heading = html('h2', {});
  private readonly idLine = html('code', {});
  private readonly activityType: string;

  constructor(
    private readonly session: Session,
    private key: string,
    swap: () => void,
  ) {
    const node = nodeOf(session.doc, key) as NodeDoc;
    this.activityType = node.activityType;
    this.fields = new Fields(session);
    this.listeners = new NodeListeners(session, { node: () => this.node, key: () => this.key }, (target) =>
      this.isMine(target),
    );
    this.element = html(
      'div',
      { class: 'panel' },
      this.head(swap),
      html('div', { class: 'scroll', tabindex: '-1' }, ...this.sections(node)),
    );
    this.refresh();
  }

  private get node(): NodeDoc | undefined {
    return nodeOf(this.session.doc, this.key);
  }

  private head(swap: () => void): HTMLElement {
    const { session } = this;
    const look = session.activities.look(this.activityType);
    const swapButton = html(
      'button',
      { class: 'btn sm ghost', type: 'button', click: swap },
      icon('refresh-cw'),
      session.t('designer.pad.swap_short'),
    );
    return html(
      'header',
      { class: 'props-head' },
      html('span', { class: 'cat-tile', 'data-cat': look.category }, icon(look.icon)),
      html('div', { class: 'grow' }, this.heading, html('small', {}, `${look.title} · `, this.idLine)),
      !session.readOnly && swapButton,
      this.helpLink(look.title),
    );
  }

  /** The activity's page; in a tab of its own, so that nothing unsaved is left. */
  private helpLink(title: string): HTMLElement | undefined {
    const { session, activityType } = this;
    if (!session.activities.get(activityType)) return undefined;
    const label = session.t('designer.node.help', { name: title });
    const href = `/help/activities/${encodeURIComponent(activityType)}`;
    return html(
      'a',
      { class: 'icon-btn', href, target: '_blank', rel: 'noopener', 'aria-label': label, title: label },
      icon('circle-help'),
    );
  }

  private sections(node: NodeDoc): HTMLElement[] {
    const { session } = this;
    const descriptor = session.activities.get(node.activityType);
    const covered = COVERED[node.activityType] ?? [];
    const shown = (descriptor?.properties ?? []).filter(
      ({ name }) => !covered.includes(name) || propertyValue(node, name) !== undefined,
    );
    const names = [...new Set([...SECTIONS, ...shown.map((each) => each.section)])];
    const parts = names.map((name) => {
      const fields = shown.filter((each) => each.section === name).map((each) => this.property(each));
      if (name === 'setup') return section('', '', this.nameField(), ...fields);
      if (fields.length === 0) return undefined;
      const title = this.sectionTitle(name);
      if (shown.length <= LONG || OPEN.includes(name)) return section(title, '', ...fields);
      const set = shown.some((each) => each.section === name && propertyValue(node, each.name) !== undefined);
      return folded(title, set, ...fields);
    });
    const unknown = descriptor ? [] : [this.unknownActivity(node)];
    return [
      ...unknown,
      ...parts.filter((part) => part !== undefined),
      this.listeners.element,
      this.settings(node, descriptor?.waits ?? false),
    ];
  }

  private unknownActivity(node: NodeDoc): HTMLElement {
    const { t } = this.session;
    const field = this.fields.add(
      { name: 'properties', label: t('designer.node.properties'), editor: 'json', kind: 'literal' },
      ['properties'],
      () => this.node?.properties,
      (value) => this.set('properties', { properties: isObject(value) ? value : {} }),
    );
    const note = html('p', { class: 'help' }, t('designer.node.unknown_activity', { type: node.activityType }));
    return section('', '', note, field);
  }

  private sectionTitle(name: string): string {
    const key = `designer.section.${name}`;
    const title = this.session.t(key);
    return title === key ? name : title;
  }

  private nameField(): HTMLElement {
    const { t } = this.session;
    return this.fields.add(
      { name: 'name', label: t('designer.node.name'), editor: 'text', kind: 'literal' },
      ['name'],
      () => this.node?.name,
      (value) => this.set('name', { name: text(value) || undefined }),
    );
  }

  private property(descriptor: PropertyDescriptor): HTMLElement {
    const { session } = this;
    const element = this.fields.add(
      {
        name: descriptor.name,
        label: descriptor.title,
        help: descriptor.help,
        editor: descriptor.editor,
        kind: descriptor.kind,
        required: descriptor.required,
        default: descriptor.default,
        options: descriptor.options,
        placeholder: descriptor.example || undefined,
        suggest: descriptor.type === 'workCalendar' ? () => session.calendars() : undefined,
      },
      ['properties', descriptor.name],
      () => (this.node ? propertyValue(this.node, descriptor.name) : undefined),
      (value) => {
        const { node } = this;
        if (!node) return;
        const ops = setProperty(session.doc, this.key, propertyKey(node, descriptor.name), value);
        session.execute(
          session.t('designer.step.property', { name: descriptor.title }),
          ops,
          `${this.key}.${descriptor.name}`,
        );
      },
    );
    if (descriptor.countsWith) this.fields.showIf(element, () => this.counts(descriptor));
    return element;
  }

  /** Whether a property means anything now; one that is set is shown in any case. */
  private counts({ name, countsWith }: PropertyDescriptor): boolean {
    const { node } = this;
    if (!node || !countsWith || propertyValue(node, name) !== undefined) return true;
    const [choice, wanted] = countsWith;
    return text(propertyValue(node, choice)).toLowerCase() === wanted.toLowerCase();
  }

  private set(name: string, members: Readonly<Record<string, JsonValue | undefined>>): void {
    const { session } = this;
    const label = session.t('designer.step.property', { name: session.t(`designer.node.${name}`) });
    session.execute(label, setNode(session.doc, this.key, members), `${this.key}#${name}`);
  }

  private settings(node: NodeDoc, waits: boolean): HTMLElement {
    const host = {
      node: () => this.node,
      set: (name: string, members: Readonly<Record<string, JsonValue | undefined>>) => this.set(name, members),
    };
    return new NodeSettings(this.session, this.fields, host).section(node, waits, this.idField());
  }

  private idField(): HTMLElement {
    const { session } = this;
    const { t } = session;
    return this.fields.add(
      { name: 'id', label: t('designer.node.id'), help: t('designer.node.id.help'), editor: 'text', kind: 'literal' },
      ['id'],
      () => this.node?.id,
      (value) => {
        const id = text(value).trim();
        const taken = session.doc.nodes.some((each) => each.id === id && each !== this.node);
        if (!ID.test(id) || taken) {
          session.say(t(taken ? 'designer.node.id.taken' : 'designer.node.id.invalid'));
          return;
        }
        const { key } = this;
        // The panel follows the node to its new id before the canvas hears of it.
        this.key = id;
        this.renamed(key, id);
        session.execute(
          t('designer.step.property', { name: t('designer.node.id') }),
          renameNode(session.doc, key, id),
          `${id}#id`,
        );
      },
    );
  }

  /** Set by the owner: the selection follows a node to its new id. */
  renamed: (from: string, to: string) => void = () => undefined;

  refresh(): boolean {
    const { node } = this;
    if (!node || node.activityType !== this.activityType) return false;
    this.heading.textContent = nodeName(node);
    this.idLine.textContent = node.id;
    this.fields.refresh();
    this.listeners.refresh();
    return true;
  }

  showProblems(): void {
    this.fields.showProblems((target) => this.isMine(target));
    this.listeners.showProblems();
  }

  focus(path: readonly string[]): void {
    if (path[0] === 'listeners') this.listeners.focus(path);
    else this.fields.focus(path.length === 0 ? ['name'] : path);
  }

  private isMine(target: ProblemTarget): boolean {
    return target.kind === 'node' && target.element === this.key;
  }
}
