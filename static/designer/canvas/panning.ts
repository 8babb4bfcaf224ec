/** Pans by space, middle button or finger; a plain drag over the ground draws the selection box. */
import type { Canvas } from './djs';

export class Panning {
  private spaceHeld = false;

  constructor(
    private readonly canvas: Canvas,
    private readonly boxSelect: (event: MouseEvent) => void,
  ) {
    const container = canvas.getContainer();
    container.addEventListener('mousedown', (event) => this.mouseDown(event), true);
    container.addEventListener('pointerdown', (event) => this.touchDown(event));
    container.addEventListener('auxclick', (event) => event.preventDefault());
  }

  /** Space is held: the next drag pans. */
  hold(held: boolean): void {
    this.spaceHeld = held;
    this.canvas.getContainer().classList.toggle('is-panning', held);
  }

  private mouseDown(event: MouseEvent): void {
    if (event.button === 1 || (event.button === 0 && this.spaceHeld)) {
      event.preventDefault();
      event.stopPropagation();
      this.follow(event, 'mousemove', 'mouseup');
      return;
    }
    const onGround =
      event.target instanceof Element && event.target.tagName === 'svg' && !event.target.closest('.djs-element');
    if (event.button === 0 && onGround) this.boxSelect(event);
  }

  private touchDown(event: PointerEvent): void {
    if (event.pointerType === 'mouse' || !event.isPrimary) return;
    this.follow(event, 'pointermove', 'pointerup');
  }

  private follow(start: MouseEvent, move: 'mousemove' | 'pointermove', end: 'mouseup' | 'pointerup'): void {
    let last = { x: start.clientX, y: start.clientY };
    const container = this.canvas.getContainer();
    container.classList.add('is-grabbing');
    const onMove = (event: MouseEvent) => {
      this.canvas.scroll({ dx: event.clientX - last.x, dy: event.clientY - last.y });
      last = { x: event.clientX, y: event.clientY };
    };
    const onEnd = () => {
      container.classList.remove('is-grabbing');
      document.removeEventListener(move, onMove as EventListener, true);
      document.removeEventListener(end, onEnd, true);
      document.removeEventListener('pointercancel', onEnd, true);
    };
    document.addEventListener(move, onMove as EventListener, true);
    document.addEventListener(end, onEnd, true);
    document.addEventListener('pointercancel', onEnd, true);
  }
}
