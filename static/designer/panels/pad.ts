/** The bar over the selected element: add, connect, swap, copy, delete. */
import type { Session } from '../app/session';
import { nodeOf, transitionKeyOf } from '../model/definition';
import type { Rect } from '../model/geometry';
import { mayLeave } from '../model/rules';
import { html } from '../view/html';
import { iconButton } from '../view/icons';

export interface PadHost {
  addAfter(): void;
  connect(event: MouseEvent): void;
  swap(): void;
  duplicate(): void;
  remove(): void;
}

const ABOVE_PX = 44;

export class Pad {
  readonly element: HTMLElement;
  private readonly buttons: Readonly<Record<'add' | 'connect' | 'swap' | 'copy' | 'delete', HTMLButtonElement>>;

  constructor(
    private readonly session: Session,
    host: PadHost,
  ) {
    const { t } = session;
    const connect = iconButton(t('designer.pad.connect'), 'link', {
      // The pointer may be let go at once (click, move, click) or stay down (drag): both draw the line.
      mousedown: (event: MouseEvent) => {
        if (event.button === 0) this.watch(event, host);
      },
      click: (event: MouseEvent) => host.connect(event),
    });
    this.buttons = {
      add: iconButton(t('designer.pad.add'), 'plus', { click: () => host.addAfter(), 'aria-keyshortcuts': '/' }),
      connect,
      swap: iconButton(t('designer.pad.swap'), 'refresh-cw', { click: () => host.swap() }),
      copy: iconButton(t('designer.pad.duplicate'), 'copy', { click: () => host.duplicate() }),
      delete: iconButton(t('designer.pad.delete'), 'trash-2', { click: () => host.remove() }),
    };
    const { add, swap, copy, delete: remove } = this.buttons;
    this.element = html(
      'div',
      { class: 'pad', role: 'toolbar', 'aria-label': t('designer.pad'), hidden: true },
      add,
      connect,
      swap,
      copy,
      remove,
    );
  }

  private watch(down: MouseEvent, host: PadHost): void {
    const move = (event: MouseEvent) => {
      if (Math.hypot(event.clientX - down.clientX, event.clientY - down.clientY) < 4) return;
      stop();
      host.connect(event);
    };
    const stop = () => {
      document.removeEventListener('mousemove', move, true);
      document.removeEventListener('mouseup', stop, true);
    };
    document.addEventListener('mousemove', move, true);
    document.addEventListener('mouseup', stop, true);
  }

  /** Shows what can be done with the selection, over the box it takes on the screen. */
  show(elements: readonly string[], box: Rect | undefined): void {
    const { session, buttons } = this;
    this.element.hidden = elements.length === 0 || box === undefined || session.readOnly;
    if (this.element.hidden || !box) return;
    const [first = ''] = elements;
    const one = elements.length === 1;
    const transition = transitionKeyOf(first) !== undefined;
    const node = one && !transition && nodeOf(session.doc, first) !== undefined;
    const leads = node && mayLeave(session.doc, first, session.activities.modes);
    buttons.add.hidden = !(leads || (one && transition));
    buttons.connect.hidden = !leads;
    buttons.swap.hidden = !node;
    buttons.copy.hidden = one && transition;
    const middle = box.x + box.width / 2;
    const below = box.y < ABOVE_PX + 8;
    this.element.style.left = `${Math.round(middle)}px`;
    this.element.style.top = `${Math.round(below ? box.y + box.height + 12 : box.y - ABOVE_PX)}px`;
  }

  hide(): void {
    this.element.hidden = true;
  }
}
