/** Below the canvas: problems of the draft as the server sees them, and the variables. */
import type { Session } from '../app/session';
import { nodeName, nodeOf, transitionKeyOf, transitionOf } from '../model/definition';
import { fieldLabel, type Problem } from '../model/problems';
import { html } from '../view/html';
import { icon, iconButton } from '../view/icons';
import type { VariablesPanel } from './variables';

export type DockTab = 'problems' | 'variables';

export interface DockHost {
  goTo(problem: Problem): void;
  /** What one click can put right; undefined when there is no such thing. */
  fixFor(problem: Problem): (() => void) | undefined;
  resized(): void;
}

export class Dock {
  readonly element: HTMLElement;
  private readonly list = html('div', { class: 'problems' });
  private readonly status = html('span', { class: 'checked', role: 'status' });
  private readonly tabs: Readonly<Record<DockTab, HTMLButtonElement>>;
  private readonly counts: Readonly<Record<DockTab, HTMLElement>>;
  private readonly panes: Readonly<Record<DockTab, HTMLElement>>;
  private readonly fold: HTMLButtonElement;
  private current: DockTab = 'problems';
  private next = 0;

  constructor(
    private readonly session: Session,
    variables: VariablesPanel,
    private readonly host: DockHost,
  ) {
    const { t } = session;
    this.counts = { problems: html('span', { class: 'n' }), variables: html('span', { class: 'n' }) };
    this.tabs = { problems: this.tab('problems'), variables: this.tab('variables') };
    this.panes = {
      problems: html(
        'div',
        {
          role: 'tabpanel',
          id: 'dock-problems',
          'aria-labelledby': 'dock-tab-problems',
          class: 'dock-body',
          tabindex: '0',
        },
        this.list,
      ),
      variables: html(
        'div',
        { role: 'tabpanel', id: 'dock-variables', 'aria-labelledby': 'dock-tab-variables', class: 'dock-body' },
        variables.element,
      ),
    };
    this.fold = iconButton(t('designer.dock.hide'), 'chevron-down', { click: () => this.toggle(this.folded) });
    const tablist = html(
      'div',
      { class: 'row', role: 'tablist', 'aria-label': t('designer.dock') },
      this.tabs.problems,
      this.tabs.variables,
    );
    this.element = html(
      'section',
      { class: 'dock', 'aria-label': t('designer.dock') },
      html('div', { class: 'tabs' }, tablist, html('span', { class: 'right' }, this.status, this.fold)),
      this.panes.problems,
      this.panes.variables,
    );
    this.open('problems');
  }

  private get folded(): boolean {
    return this.element.classList.contains('is-folded');
  }

  private tab(name: DockTab): HTMLButtonElement {
    return html(
      'button',
      {
        type: 'button',
        role: 'tab',
        id: `dock-tab-${name}`,
        'aria-controls': `dock-${name}`,
        click: () => {
          this.open(name);
          this.toggle(true);
        },
        keydown: (event: KeyboardEvent) => {
          if (event.key !== 'ArrowLeft' && event.key !== 'ArrowRight') return;
          const other = name === 'problems' ? 'variables' : 'problems';
          this.open(other);
          this.tabs[other].focus();
        },
      },
      this.session.t(`designer.${name}`),
      ' ',
      this.counts[name],
    );
  }

  open(name: DockTab): void {
    this.current = name;
    for (const each of ['problems', 'variables'] as const) {
      this.tabs[each].setAttribute('aria-selected', String(each === name));
      this.tabs[each].tabIndex = each === name ? 0 : -1;
      this.panes[each].hidden = each !== name;
    }
    this.refresh();
  }

  toggle(open: boolean): void {
    if (open === !this.folded) return;
    this.element.classList.toggle('is-folded', !open);
    const label = this.session.t(open ? 'designer.dock.hide' : 'designer.dock.show');
    this.fold.setAttribute('aria-label', label);
    this.fold.title = label;
    this.fold.replaceChildren(icon(open ? 'chevron-down' : 'chevron-up'));
    this.host.resized();
  }

  /** Counts; the variables themselves are refreshed by their panel. */
  refresh(): void {
    this.counts.variables.textContent = String(this.session.doc.variables.length);
    this.status.hidden = this.current !== 'problems';
  }

  /** Shows the problems, and since when they hold. */
  show(problems: readonly Problem[], at: string): void {
    const { t } = this.session;
    const errors = problems.filter(({ severity }) => severity === 'error').length;
    const warnings = problems.length - errors;
    this.counts.problems.textContent = String(problems.length);
    this.element.dataset.problems = String(errors);
    const words =
      problems.length === 0
        ? t('designer.problems.none')
        : [
            errors > 0 && t('designer.problems.errors', { count: errors }),
            warnings > 0 && t('designer.problems.warnings', { count: warnings }),
          ]
            .filter(Boolean)
            .join(t('designer.comma'));
    this.status.textContent = t('designer.problems.checked', { words, at });
    const rows = problems.map((problem) => this.row(problem));
    this.list.replaceChildren(
      ...(rows.length > 0
        ? rows
        : [
            html(
              'p',
              { class: 'none' },
              icon('circle-check'),
              t(this.session.readOnly ? 'designer.problems.none' : 'designer.problems.empty'),
            ),
          ]),
    );
  }

  /** The check could not be made. */
  unreachable(): void {
    this.status.textContent = this.session.t('designer.problems.unreachable');
  }

  /** The problem after the last one that was gone to. */
  goToNext(): boolean {
    const { problems } = this.session;
    const problem = problems[this.next % Math.max(problems.length, 1)];
    if (!problem) return false;
    this.next = (this.next + 1) % problems.length;
    this.host.goTo(problem);
    return true;
  }

  private about(problem: Problem): string {
    const { doc, t } = this.session;
    const { target } = problem;
    if (target.kind === 'node') {
      const node = nodeOf(doc, target.element);
      return node ? nodeName(node) : target.element;
    }
    if (target.kind === 'transition') {
      const transition = transitionOf(doc, transitionKeyOf(target.element) ?? '');
      if (!transition) return target.element;
      const name = (id: string) => {
        const node = nodeOf(doc, id);
        return node ? nodeName(node) : id;
      };
      return `${name(transition.sourceNodeId)} → ${name(transition.targetNodeId)}`;
    }
    if (target.kind === 'variable') return doc.variables[target.index]?.name || t('designer.variable');
    return t('designer.workflow');
  }

  /** The name stands out where the message says it, else before the message. */
  private sentence(name: string, message: string): HTMLElement {
    const strong = html('b', { class: 'strong' }, name);
    const at = message.indexOf(name);
    const parts = at < 0 ? [strong, ` ${message}`] : [message.slice(0, at), strong, message.slice(at + name.length)];
    return html('span', { class: 'ellip', title: message }, ...parts);
  }

  private row(problem: Problem): HTMLElement {
    const { t } = this.session;
    const wrong = problem.severity === 'error';
    const fix = this.session.readOnly ? undefined : this.host.fixFor(problem);
    const kind = html('span', { class: 'vh' }, t(wrong ? 'designer.problems.error' : 'designer.problems.warning'));
    const sentence = this.sentence(this.about(problem), problem.message);
    const go = html(
      'button',
      { class: 'go', type: 'button', click: () => this.host.goTo(problem) },
      icon(wrong ? 'octagon-alert' : 'triangle-alert'),
      kind,
      sentence,
      html('code', {}, fieldLabel(problem)),
    );
    const act = fix
      ? html('button', { class: 'btn sm', type: 'button', click: fix }, t('designer.problems.fix'))
      : html(
          'button',
          {
            class: 'btn sm',
            type: 'button',
            tabindex: '-1',
            'aria-hidden': 'true',
            click: () => this.host.goTo(problem),
          },
          t('designer.problems.go'),
        );
    return html('div', { class: wrong ? 'problem faulted' : 'problem waiting', 'data-key': problem.key }, go, act);
  }
}
