/** What a workflow sets for all its instances: who may, how long, how urgent, what is undone. */
import type { Session } from '../app/session';
import type { FieldSpec } from '../fields/field';
import type { Option } from '../model/activities';
import { setSetting } from '../model/edits';
import type { JsonValue } from '../model/json';
import { type Fields, folded } from './panel';

const PRIORITIES = ['low', 'normal', 'high', 'urgent'];
const ACTIONS = ['Fault', 'Cancel', 'Terminate'];

export class DefinitionSettings {
  constructor(
    private readonly session: Session,
    private readonly fields: Fields,
  ) {}

  /** The folded sections; those are open in which something is set. */
  sections(): readonly HTMLElement[] {
    return [this.people(), this.time(), this.undoing()];
  }

  private read(name: string): JsonValue | undefined {
    return this.session.doc[name] ?? undefined;
  }

  private isSet(...names: readonly string[]): boolean {
    return names.some((name) => {
      const value = this.read(name);
      return value !== undefined && value !== false && !(Array.isArray(value) && value.length === 0);
    });
  }

  private field(spec: Omit<FieldSpec, 'label' | 'kind' | 'help'>): HTMLElement {
    const { session } = this;
    const { name } = spec;
    const key = `designer.definition.${name}`;
    const label = session.t(key);
    const help = session.t(`${key}.help`);
    return this.fields.add(
      { ...spec, label, kind: 'literal', help: help === `${key}.help` ? undefined : help },
      [name],
      () => this.read(name),
      (value) =>
        session.execute(session.t('designer.step.property', { name: label }), setSetting(name, value), `#${name}`),
    );
  }

  private options(name: string, values: readonly string[]): readonly Option[] {
    return values.map((value) => ({ value, title: this.session.t(`designer.definition.${name}.${value}`) }));
  }

  private people(): HTMLElement {
    const { t } = this.session;
    return folded(
      t('designer.definition.people'),
      this.isSet('owners', 'startableBy') || this.read('allowWithdraw') === false,
      this.field({ name: 'startableBy', editor: 'list' }),
      this.field({ name: 'owners', editor: 'list' }),
      this.field({ name: 'allowWithdraw', editor: 'switch', default: true }),
    );
  }

  private time(): HTMLElement {
    const { session } = this;
    return folded(
      session.t('designer.definition.timeLimit'),
      this.isSet('timeout', 'workCalendar', 'priority'),
      this.field({ name: 'timeout', editor: 'duration', unit: 'days' }),
      this.field({
        name: 'timeoutAction',
        editor: 'choice',
        default: 'Fault',
        options: this.options('timeoutAction', ACTIONS),
      }),
      this.field({ name: 'workCalendar', editor: 'text', suggest: () => session.calendars() }),
      this.field({
        name: 'priority',
        editor: 'choice',
        default: 'normal',
        asList: true,
        options: this.options('priority', PRIORITIES),
      }),
    );
  }

  private undoing(): HTMLElement {
    return folded(
      this.session.t('designer.definition.undoing'),
      this.isSet('compensateOnCancel', 'compensateOnFault'),
      this.field({ name: 'compensateOnCancel', editor: 'switch', default: false }),
      this.field({ name: 'compensateOnFault', editor: 'switch', default: false }),
    );
  }
}
