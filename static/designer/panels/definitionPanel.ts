/** Settings of the workflow itself: shown while nothing on the canvas is selected. */
import type { Session } from '../app/session';
import { text } from '../model/definition';
import { setSetting } from '../model/edits';
import { html } from '../view/html';
import { icon } from '../view/icons';
import { DefinitionSettings } from './definitionSettings';
import { Fields, type Panel, section } from './panel';

export class DefinitionPanel implements Panel {
  readonly element: HTMLElement;
  private readonly fields: Fields;
  private readonly count = html('span', { class: 'n' });
  private readonly heading = html('h2', {});

  constructor(
    private readonly session: Session,
    openVariables: () => void,
  ) {
    const { t } = session;
    this.fields = new Fields(session);
    const head = html(
      'header',
      { class: 'props-head' },
      html('span', { class: 'cat-tile' }, icon('workflow')),
      html('div', { class: 'grow' }, this.heading, html('small', {}, html('code', {}, text(session.doc.name)))),
    );
    const variables = html(
      'button',
      { type: 'button', class: 'btn wide', click: openVariables },
      icon('braces'),
      t('designer.variables'),
      this.count,
    );
    const hints = section(
      t('designer.hints'),
      '',
      html(
        'ul',
        { class: 'canvas-hints' },
        ...['drag', 'slash', 'connect', 'walk'].map((name) => html('li', {}, t(`designer.hints.${name}`))),
      ),
    );
    this.element = html(
      'div',
      { class: 'panel' },
      head,
      html(
        'div',
        { class: 'scroll', tabindex: '-1' },
        section(
          '',
          '',
          this.field('displayName', 'text', true),
          this.field('description', 'longText'),
          this.field('category', 'text', false, t('designer.definition.category.help')),
          variables,
        ),
        ...new DefinitionSettings(session, this.fields).sections(),
        ...(session.readOnly ? [] : [hints]),
      ),
    );
    this.refresh();
  }

  private field(
    name: 'displayName' | 'description' | 'category',
    editor: 'text' | 'longText',
    required = false,
    help = '',
  ): HTMLElement {
    const { session } = this;
    const label = session.t(`designer.definition.${name}`);
    return this.fields.add(
      { name, label, help, editor, kind: 'literal', required },
      [name],
      () => session.doc[name] ?? undefined,
      (value) => {
        const ops = setSetting(name, value ?? (name === 'displayName' ? '' : undefined));
        session.execute(session.t('designer.step.property', { name: label }), ops, `#${name}`);
      },
    );
  }

  refresh(): boolean {
    this.heading.textContent = text(this.session.doc.displayName) || text(this.session.doc.name);
    this.count.textContent = String(this.session.doc.variables.length);
    this.fields.refresh();
    return true;
  }

  showProblems(): void {
    this.fields.showProblems((target) => target.kind === 'definition');
  }

  focus(path: readonly string[]): void {
    this.fields.focus(path.length === 0 ? ['displayName'] : path);
  }
}
