/** A small searched list of activities beside the selected step: to add one after it, or to swap its type. */
import type { Session } from '../app/session';
import type { ActivityDescriptor } from '../model/activities';
import { freshId, html } from '../view/html';
import { icon } from '../view/icons';

export interface PickerRequest {
  readonly label: string;
  /** Where the list opens, in pixels of the canvas. */
  readonly at: { readonly x: number; readonly y: number };
  allowed(activity: ActivityDescriptor): boolean;
  chosen(activityType: string): void;
  closed(): void;
}

const WIDTH = 260;
const HEIGHT = 320;

export class Picker {
  readonly element: HTMLElement;
  private readonly input: HTMLInputElement;
  private readonly list: HTMLElement;
  private request: PickerRequest | undefined;
  private items: readonly ActivityDescriptor[] = [];
  private active = 0;

  constructor(private readonly session: Session) {
    const { t } = session;
    const listId = freshId('picker');
    this.list = html('ul', { id: listId, role: 'listbox', 'aria-label': t('designer.palette') });
    this.input = html('input', {
      class: 'input',
      role: 'combobox',
      'aria-expanded': 'true',
      'aria-controls': listId,
      'aria-autocomplete': 'list',
      'aria-label': t('designer.palette.search'),
      placeholder: t('designer.palette.search'),
      autocomplete: 'off',
      input: () => {
        this.active = 0;
        this.draw();
      },
      keydown: (event: KeyboardEvent) => this.key(event),
      blur: () => this.close(false),
    });
    this.element = html('div', { class: 'picker', hidden: true }, this.input, this.list);
    this.element.addEventListener('mousedown', (event) => {
      if (event.target !== this.input) event.preventDefault();
    });
  }

  get open(): boolean {
    return this.request !== undefined;
  }

  show(request: PickerRequest, room: { readonly width: number; readonly height: number }): void {
    this.request = request;
    this.input.value = '';
    this.active = 0;
    this.element.hidden = false;
    this.element.style.left = `${Math.max(8, Math.min(request.at.x, room.width - WIDTH - 8))}px`;
    this.element.style.top = `${Math.max(8, Math.min(request.at.y, room.height - HEIGHT - 8))}px`;
    this.list.setAttribute('aria-label', request.label);
    this.draw();
    this.input.focus();
  }

  private close(refocus: boolean): void {
    const { request } = this;
    this.request = undefined;
    this.element.hidden = true;
    if (refocus) request?.closed();
  }

  private draw(): void {
    const { request } = this;
    if (!request) return;
    this.items = this.session.activities
      .groups(this.input.value)
      .flatMap((group) => group.activities)
      .filter((each) => request.allowed(each));
    const rows = this.items.map((each, i) =>
      html(
        'li',
        {
          id: `${this.list.id}-${i}`,
          role: 'option',
          'aria-selected': String(i === this.active),
          'data-cat': each.category,
          click: () => this.choose(each),
        },
        html('span', { class: 'cat-tile sm' }, icon(each.icon)),
        html('span', {}, each.title),
      ),
    );
    this.list.replaceChildren(...rows);
    this.input.setAttribute('aria-activedescendant', rows[this.active]?.id ?? '');
    rows[this.active]?.scrollIntoView({ block: 'nearest' });
  }

  private choose(activity: ActivityDescriptor): void {
    const { request } = this;
    this.close(true);
    request?.chosen(activity.type);
  }

  private key(event: KeyboardEvent): void {
    if (event.isComposing) return;
    event.stopPropagation();
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      event.preventDefault();
      const step = event.key === 'ArrowDown' ? 1 : -1;
      this.active = (this.active + step + this.items.length) % Math.max(this.items.length, 1);
      this.draw();
    } else if (event.key === 'Enter') {
      event.preventDefault();
      const chosen = this.items[this.active];
      if (chosen) this.choose(chosen);
    } else if (event.key === 'Escape') {
      event.preventDefault();
      this.close(true);
    }
  }
}
