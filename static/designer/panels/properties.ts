/** The pane on the right: properties of what is selected. */
import type { Session } from '../app/session';
import { nodeOf, transitionKeyOf } from '../model/definition';
import { html } from '../view/html';
import { DefinitionPanel } from './definitionPanel';
import { NodePanel } from './nodePanel';
import type { Panel } from './panel';
import { TransitionPanel } from './transitionPanel';

export interface PropertiesHost {
  swap(): void;
  openVariables(): void;
  renamed(from: string, to: string): void;
}

export class Properties {
  readonly element: HTMLElement;
  private panel: Panel | undefined;
  private shown: readonly string[] = [];

  constructor(
    private readonly session: Session,
    private readonly host: PropertiesHost,
  ) {
    this.element = html('aside', { class: 'props', 'aria-label': session.t('designer.properties') });
  }

  /** Shows the properties of what is selected; the panel stays when it already does. */
  select(elements: readonly string[]): void {
    const same = this.panel && elements.length === this.shown.length && elements.every((id, i) => id === this.shown[i]);
    this.shown = elements;
    if (same && this.panel?.refresh()) return;
    this.panel = this.make(elements);
    this.element.replaceChildren(this.panel?.element ?? this.several(elements.length));
    this.panel?.showProblems();
  }

  /** The document changed. */
  refresh(): void {
    if (this.panel && !this.panel.refresh()) {
      this.panel = undefined;
      this.select(this.shown);
    }
  }

  showProblems(): void {
    this.panel?.showProblems();
  }

  focus(path: readonly string[] = []): void {
    this.panel?.focus(path);
  }

  /** A node got another id: the same panel goes on. */
  follow(from: string, to: string): void {
    this.shown = this.shown.map((id) => (id === from ? to : id));
  }

  private make(elements: readonly string[]): Panel | undefined {
    const { session, host } = this;
    const [first] = elements;
    if (first === undefined) return new DefinitionPanel(session, () => host.openVariables());
    if (elements.length > 1) return undefined;
    const transition = transitionKeyOf(first);
    if (transition !== undefined) return new TransitionPanel(session, transition);
    if (!nodeOf(session.doc, first)) return new DefinitionPanel(session, () => host.openVariables());
    const panel = new NodePanel(session, first, () => host.swap());
    panel.renamed = (from, to) => {
      this.follow(from, to);
      host.renamed(from, to);
    };
    return panel;
  }

  private several(count: number): HTMLElement {
    const { t } = this.session;
    return html(
      'div',
      { class: 'panel' },
      html(
        'header',
        { class: 'props-head' },
        html('div', { class: 'grow' }, html('h2', {}, t('designer.selected', { count }))),
      ),
      html('p', { class: 'psec help' }, t('designer.selected.help')),
    );
  }
}
