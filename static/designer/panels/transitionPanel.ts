/** Properties of one transition: when it is taken, and what stands on the line. */
import type { Session } from '../app/session';
import { outcomesOf } from '../model/activities';
import { nodeName, nodeOf, type TransitionDoc, text, transitionElement, transitionOf } from '../model/definition';
import { outcomeCondition, outcomeOfCondition } from '../model/describe';
import { setTransition } from '../model/edits';
import type { JsonValue } from '../model/json';
import { html } from '../view/html';
import { icon } from '../view/icons';
import { Fields, type Panel, section } from './panel';

export class TransitionPanel implements Panel {
  readonly element: HTMLElement;
  private readonly fields: Fields;
  private readonly ends = html('small', {});
  private readonly outcomes = html('div', { class: 'seg full', role: 'group' });

  constructor(
    private readonly session: Session,
    private readonly key: string,
  ) {
    const { t } = session;
    this.fields = new Fields(session);
    this.outcomes.setAttribute('aria-label', t('designer.transition.outcome'));
    const head = html(
      'header',
      { class: 'props-head' },
      html('span', { class: 'cat-tile' }, icon('arrow-right')),
      html('div', { class: 'grow' }, html('h2', {}, t('designer.transition')), this.ends),
    );
    const parts = [
      this.outcomePart(),
      this.field('condition', 'condition', t('designer.transition.condition.help')),
      this.field('isDefault', 'switch', t('designer.transition.isDefault.help')),
      this.field('name', 'text', t('designer.transition.name.help')),
      this.field('priority', 'number', t('designer.transition.priority.help')),
    ];
    this.element = html(
      'div',
      { class: 'panel' },
      head,
      html('div', { class: 'scroll', tabindex: '-1' }, section('', '', ...parts)),
    );
    this.refresh();
  }

  private get transition(): TransitionDoc | undefined {
    return transitionOf(this.session.doc, this.key);
  }

  private field(
    name: 'condition' | 'isDefault' | 'name' | 'priority',
    editor: 'condition' | 'switch' | 'text' | 'number',
    help: string,
  ): HTMLElement {
    const preset = { isDefault: false, priority: '0' }[name as 'isDefault' | 'priority'];
    return this.fields.add(
      { name, label: this.session.t(`designer.transition.${name}`), help, editor, kind: 'literal', default: preset },
      [name],
      () => this.transition?.[name] ?? undefined,
      (value) => this.set(name, { [name]: value }, true),
    );
  }

  private set(name: string, members: Readonly<Record<string, JsonValue | undefined>>, merge: boolean): void {
    const { session, key } = this;
    const label = session.t('designer.step.property', { name: session.t(`designer.transition.${name}`) });
    session.execute(
      label,
      setTransition(session.doc, key, members),
      merge ? `${transitionElement(key)}#${name}` : undefined,
    );
  }

  /** Behind a step that ends in outcomes, one click says which of them goes this way. */
  private outcomePart(): HTMLElement {
    const label = html('span', { class: 'lab' }, this.session.t('designer.transition.outcome'));
    return html('div', { class: 'field outcomes' }, label, this.outcomes);
  }

  private drawOutcomes(transition: TransitionDoc): void {
    const { session } = this;
    const source = nodeOf(session.doc, transition.sourceNodeId);
    const all = source ? outcomesOf(source, session.activities) : [];
    const chosen = outcomeOfCondition(text(transition.condition));
    const part = this.outcomes.parentElement;
    if (part) part.hidden = all.length === 0;
    this.outcomes.replaceChildren(
      ...all.map((outcome) =>
        html(
          'button',
          {
            type: 'button',
            'aria-pressed': String(outcome === chosen),
            'data-outcome': outcome,
            disabled: session.readOnly,
            click: () => {
              const on = outcome !== chosen;
              this.set(
                'outcome',
                { condition: on ? outcomeCondition(outcome) : undefined, isDefault: undefined },
                false,
              );
            },
          },
          session.words.outcome(outcome),
        ),
      ),
    );
  }

  refresh(): boolean {
    const { transition, session } = this;
    if (!transition) return false;
    const name = (id: string) => {
      const node = nodeOf(session.doc, id);
      return node ? nodeName(node) : id;
    };
    this.ends.textContent = `${name(transition.sourceNodeId)} → ${name(transition.targetNodeId)}`;
    this.drawOutcomes(transition);
    this.fields.refresh();
    return true;
  }

  showProblems(): void {
    const element = transitionElement(this.key);
    this.fields.showProblems((target) => target.kind === 'transition' && target.element === element);
  }

  focus(path: readonly string[]): void {
    this.fields.focus(path.length === 0 ? ['condition'] : path);
  }
}
