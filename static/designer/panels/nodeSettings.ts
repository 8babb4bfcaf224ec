/** Settings that every node has, whatever its activity: errors, time limit, background, what undoes it, note. */
import type { Session } from '../app/session';
import type { FieldSpec } from '../fields/field';
import { textsOf } from '../fields/list';
import type { Option } from '../model/activities';
import { type NodeDoc, nodeName, text, withMembers } from '../model/definition';
import { isObject, type JsonObject, type JsonValue } from '../model/json';
import { html } from '../view/html';
import { type Fields, folded } from './panel';

export interface NodeSettingsHost {
  node(): NodeDoc | undefined;
  /** Sets members of the node as one step; `name` is the setting it is told by. */
  set(name: string, members: Readonly<Record<string, JsonValue | undefined>>): void;
}

const OF_ALL = ['Outcome', 'Fault'];
const OF_TASKS = ['Outcome', 'Fault', 'Escalate', 'Transfer', 'Approve', 'Reject'];
/** Actions that turn to somebody. */
const TURNING = ['Escalate', 'Transfer'];
const SET = ['retryPolicy', 'timeoutSeconds', 'timeoutAction', 'timeoutTarget', 'compensateWith', 'note'];

export class NodeSettings {
  constructor(
    private readonly session: Session,
    private readonly fields: Fields,
    private readonly host: NodeSettingsHost,
  ) {}

  /** The folded section; it is open where something is set. */
  section(node: NodeDoc, waits: boolean, ...last: readonly HTMLElement[]): HTMLElement {
    const limited = waits || (node.timeoutSeconds ?? undefined) !== undefined;
    const set = SET.some((name) => (node[name] ?? undefined) !== undefined);
    return folded(
      this.session.t('designer.section.common'),
      set || node.continueOnError === true || node.background === true,
      ...(limited ? this.timeLimit(node) : []),
      ...this.retry(),
      this.flag('continueOnError'),
      this.flag('background'),
      this.compensation(node),
      this.member({ name: 'note', editor: 'longText' }, text),
      ...last,
    );
  }

  private read(name: string): JsonValue | undefined {
    return this.host.node()?.[name] ?? undefined;
  }

  private member(
    spec: Omit<FieldSpec, 'label' | 'kind'>,
    written: (value: JsonValue | undefined) => JsonValue | undefined = (value) => value,
  ): HTMLElement {
    const { name } = spec;
    const label = this.session.t(`designer.node.${name}`);
    return this.fields.add(
      { ...spec, label, kind: 'literal' },
      [name],
      () => this.read(name),
      (value) => this.host.set(name, { [name]: written(value) || undefined }),
    );
  }

  private help(name: string): string {
    return this.session.t(`designer.node.${name}.help`);
  }

  private flag(name: string): HTMLElement {
    return this.member({ name, help: this.help(name), editor: 'switch', default: false });
  }

  private timeLimit(node: NodeDoc): readonly HTMLElement[] {
    const { t } = this.session;
    const actions = node.activityType === 'UserTask' ? OF_TASKS : OF_ALL;
    const limit = this.member({
      name: 'timeoutSeconds',
      help: this.help('timeoutSeconds'),
      editor: 'duration',
      unit: 'days',
    });
    const action = this.member({
      name: 'timeoutAction',
      editor: 'choice',
      default: 'Outcome',
      asList: true,
      options: actions.map((value) => ({ value, title: t(`designer.node.timeoutAction.${value}`) })),
    });
    const target = this.member({ name: 'timeoutTarget', help: this.help('timeoutTarget'), editor: 'list' });
    this.fields.showIf(
      target,
      () => TURNING.includes(text(this.read('timeoutAction'))) || textsOf(this.read('timeoutTarget')).length > 0,
    );
    return [limit, action, target];
  }

  private retry(): readonly HTMLElement[] {
    const { t } = this.session;
    const read = (): JsonObject => {
      const policy = this.read('retryPolicy');
      return isObject(policy) ? policy : {};
    };
    const part = (name: string, editor: 'number' | 'duration', preset: JsonValue) =>
      this.fields.add(
        { name: `retryPolicy.${name}`, label: t(`designer.node.${name}`), editor, kind: 'literal', default: preset },
        ['retryPolicy', name],
        () => read()[name] ?? undefined,
        (value) => {
          const policy = withMembers(read(), { [name]: value });
          const empty = Object.values(policy).every((each) => each === undefined || each === null);
          this.host.set('retryPolicy', { retryPolicy: empty ? undefined : policy });
        },
      );
    return [
      part('maxAttempts', 'number', '1'),
      html(
        'div',
        { class: 'grid-2' },
        part('firstDelaySeconds', 'duration', '10'),
        part('backoffFactor', 'number', '2'),
      ),
    ];
  }

  /** The step that undoes this one: any other step that could. */
  private compensation(node: NodeDoc): HTMLElement {
    const { doc, t } = this.session;
    const others = doc.nodes.filter(
      ({ id, activityType }) => id !== node.id && !['Start', 'End'].includes(activityType),
    );
    const none: Option = { value: '', title: t('designer.node.compensateWith.none') };
    return this.member({
      name: 'compensateWith',
      help: this.help('compensateWith'),
      editor: 'choice',
      asList: true,
      options: [none, ...others.map((each) => ({ value: each.id, title: nodeName(each) }))],
    });
  }
}
