/** The palette: activities by group, searched by words, dragged onto the canvas or added by a click. */
import type { Session } from '../app/session';
import type { ActivityDescriptor } from '../model/activities';
import { mayAdd } from '../model/rules';
import { html } from '../view/html';
import { icon } from '../view/icons';

export interface PaletteHost {
  /** The pointer went down on an item and moved: the canvas takes over. */
  drag(event: MouseEvent, activityType: string): void;
  add(activityType: string): void;
}

const DRAG_AFTER_PX = 4;

export class Palette {
  readonly element: HTMLElement;
  private readonly search: HTMLInputElement;
  private readonly groups = html('div', { class: 'scroll', tabindex: '-1' });

  constructor(
    private readonly session: Session,
    private readonly host: PaletteHost,
  ) {
    const { t } = session;
    this.search = html('input', {
      class: 'input',
      type: 'search',
      placeholder: t('designer.palette.search'),
      'aria-label': t('designer.palette.search'),
      input: () => this.draw(),
      keydown: (event: KeyboardEvent) => {
        if (event.key === 'Enter') this.addFirst();
      },
    });
    const head = html(
      'label',
      { class: 'input-wrap' },
      icon('search'),
      this.search,
      html('kbd', { 'aria-hidden': 'true' }, '/'),
    );
    this.element = html(
      'aside',
      { class: 'palette', 'aria-label': t('designer.palette') },
      html('div', { class: 'palette-head' }, head),
      this.groups,
    );
    this.draw();
  }

  /** A second Start can't be added: its item says why. */
  refresh(): void {
    for (const item of this.groups.querySelectorAll<HTMLButtonElement>('.pal')) {
      const possible = mayAdd(this.session.doc, item.dataset.activity ?? '');
      if (possible) item.removeAttribute('aria-disabled');
      else item.setAttribute('aria-disabled', 'true');
      item.title = possible ? (item.dataset.about ?? '') : this.session.t('designer.palette.one_start');
    }
  }

  private draw(): void {
    const { t, activities } = this.session;
    const closed = new Set(
      [...this.groups.querySelectorAll<HTMLDetailsElement>('details:not([open])')].map((each) => each.dataset.cat),
    );
    const searching = this.search.value.trim() !== '';
    const groups = activities
      .groups(this.search.value)
      .map(({ category, activities: all }) =>
        html(
          'details',
          { 'data-cat': category, open: searching || !closed.has(category) },
          html('summary', {}, t(`designer.category.${category}`), html('span', { class: 'n' }, String(all.length))),
          ...all.map((each) => this.item(each)),
        ),
      );
    this.groups.replaceChildren(
      ...(groups.length > 0 ? groups : [html('p', { class: 'none', role: 'status' }, t('designer.palette.none'))]),
    );
    this.refresh();
  }

  private addFirst(): void {
    const [first] = this.session.activities.groups(this.search.value).flatMap((group) => group.activities);
    if (first && mayAdd(this.session.doc, first.type)) this.host.add(first.type);
  }

  private item(activity: ActivityDescriptor): HTMLElement {
    const tile = html('span', { class: 'cat-tile sm' }, icon(activity.icon));
    const { description } = activity;
    const button = html(
      'button',
      {
        class: description ? 'pal' : 'pal one',
        type: 'button',
        'data-activity': activity.type,
        'data-about': description,
        // Names the item alone, so that it is found by its title whatever the help says.
        'aria-label': activity.title,
        mousedown: (event: MouseEvent) => this.watch(event, button, activity.type),
        click: (event: MouseEvent) => {
          if (button.getAttribute('aria-disabled')) return;
          // A drag that ended back on the item is no click.
          if (event.detail === 0 || !button.classList.contains('was-dragged')) this.host.add(activity.type);
        },
      },
      tile,
      html('b', {}, activity.title),
      !!description && html('small', {}, description),
    );
    return button;
  }

  private watch(down: MouseEvent, button: HTMLElement, activityType: string): void {
    button.classList.remove('was-dragged');
    if (down.button !== 0 || button.getAttribute('aria-disabled')) return;
    const move = (event: MouseEvent) => {
      if (Math.hypot(event.clientX - down.clientX, event.clientY - down.clientY) < DRAG_AFTER_PX) return;
      stop();
      event.preventDefault();
      button.classList.add('was-dragged');
      this.host.drag(event, activityType);
    };
    const stop = () => {
      document.removeEventListener('mousemove', move, true);
      document.removeEventListener('mouseup', stop, true);
    };
    document.addEventListener('mousemove', move, true);
    document.addEventListener('mouseup', stop, true);
  }
}
