/** Pans and zooms a picture: by drag, by wheel with Ctrl, by keys. On a phone it scrolls by itself at a fixed scale. */
import { centre, type Point, type Rect } from '../designer/model/geometry';

const MARGIN = 28;
/** Below this text can't be read: the picture is then larger than its box and is moved to the present step. */
const READABLE = 0.48;
const PHONE_SCALE = 0.86;
const MOST = 2;
const LEAST = 0.2;

export function isPhone(): boolean {
  return window.matchMedia('(max-width: 760px)').matches;
}

/** The scale at which all is seen, however small, but never larger than drawn. */
export function wholeScale(all: Rect, box: { readonly width: number; readonly height: number }): number {
  return Math.min(box.width / (all.width + 2 * MARGIN), box.height / (all.height + 2 * MARGIN), 1);
}

/** The scale at which all is seen, but never smaller than readable nor larger than drawn. */
export function readableScale(all: Rect, box: { readonly width: number; readonly height: number }): number {
  return Math.max(READABLE, wholeScale(all, box));
}

export class Viewport {
  private scale = 1;
  private offset: Point = { x: 0, y: 0 };

  constructor(
    private readonly box: HTMLElement,
    private readonly picture: SVGSVGElement,
    private readonly layer: SVGGElement,
    private readonly all: Rect,
    /** A small picture beside a text: always all of it, as a map rather than to read. */
    private readonly map = false,
  ) {
    this.picture.addEventListener('pointerdown', (event) => this.grab(event));
    this.box.addEventListener('wheel', (event) => this.wheel(event), { passive: false });
    this.box.addEventListener('keydown', (event) => this.key(event));
  }

  private get scrolls(): boolean {
    return isPhone() && !this.map;
  }

  /** Shows everything, or at a readable scale the part round a place. */
  fit(around?: Rect, whole = false): void {
    if (this.scrolls) {
      this.layOut(around);
      return;
    }
    this.picture.removeAttribute('width');
    this.picture.removeAttribute('height');
    const { clientWidth: width, clientHeight: height } = this.box;
    if (width === 0 || height === 0) return;
    const scale = whole || this.map ? wholeScale : readableScale;
    this.scale = scale(this.all, { width, height });
    const middle = centre(this.all);
    const target = around ? centre(around) : middle;
    this.offset = {
      x: this.place(width, this.all.x, this.all.width, target.x),
      y: this.place(height, this.all.y, this.all.height, target.y),
    };
    this.apply();
  }

  /** Where the picture starts on one axis: centred when it fits, else round the target without empty margins. */
  private place(room: number, start: number, size: number, target: number): number {
    const needed = (size + 2 * MARGIN) * this.scale;
    if (needed <= room) return room / 2 - (start + size / 2) * this.scale;
    const wanted = room / 2 - target * this.scale;
    const most = (MARGIN - start) * this.scale;
    const least = room - (start + size + MARGIN) * this.scale;
    return Math.min(most, Math.max(least, wanted));
  }

  /** Phone: a picture of fixed scale in a box that scrolls. */
  private layOut(around: Rect | undefined): void {
    const width = (this.all.width + 2 * MARGIN) * PHONE_SCALE;
    const height = Math.max((this.all.height + 2 * MARGIN) * PHONE_SCALE, this.box.clientHeight - 1);
    this.picture.setAttribute('width', String(Math.round(width)));
    this.picture.setAttribute('height', String(Math.round(height)));
    this.scale = PHONE_SCALE;
    this.offset = { x: (MARGIN - this.all.x) * this.scale, y: (MARGIN - this.all.y) * this.scale };
    this.apply();
    if (!around) return;
    const target = centre(around);
    this.box.scrollLeft = target.x * this.scale + this.offset.x - this.box.clientWidth / 2;
    this.box.scrollTop = target.y * this.scale + this.offset.y - this.box.clientHeight / 2;
  }

  zoomBy(factor: number, at?: Point): void {
    const { clientWidth, clientHeight } = this.box;
    const fixed = at ?? { x: clientWidth / 2, y: clientHeight / 2 };
    const least = Math.min(LEAST, this.scale);
    const scale = Math.min(MOST, Math.max(least, this.scale * factor));
    const ratio = scale / this.scale;
    this.offset = {
      x: fixed.x - (fixed.x - this.offset.x) * ratio,
      y: fixed.y - (fixed.y - this.offset.y) * ratio,
    };
    this.scale = scale;
    this.apply();
  }

  private panBy(x: number, y: number): void {
    this.offset = { x: this.offset.x + x, y: this.offset.y + y };
    this.apply();
  }

  private apply(): void {
    const { x, y } = this.offset;
    // Text of a few pixels is only a blur: the colours tell where the request is.
    this.picture.classList.toggle('is-tiny', this.scale < READABLE);
    this.layer.setAttribute('transform', `translate(${x.toFixed(1)} ${y.toFixed(1)}) scale(${this.scale.toFixed(4)})`);
  }

  private grab(down: PointerEvent): void {
    if (down.button !== 0 || this.scrolls) return;
    let last = { x: down.clientX, y: down.clientY };
    this.picture.setPointerCapture(down.pointerId);
    this.picture.classList.add('is-grabbing');
    const move = (event: PointerEvent) => {
      this.panBy(event.clientX - last.x, event.clientY - last.y);
      last = { x: event.clientX, y: event.clientY };
    };
    this.picture.addEventListener('pointermove', move);
    this.picture.addEventListener(
      'lostpointercapture',
      () => {
        this.picture.classList.remove('is-grabbing');
        this.picture.removeEventListener('pointermove', move);
      },
      { once: true },
    );
  }

  /** A plain wheel belongs to the page. */
  private wheel(event: WheelEvent): void {
    if ((!event.ctrlKey && !event.metaKey) || this.scrolls) return;
    event.preventDefault();
    const { left, top } = this.box.getBoundingClientRect();
    this.zoomBy(event.deltaY < 0 ? 1.1 : 1 / 1.1, { x: event.clientX - left, y: event.clientY - top });
  }

  private key(event: KeyboardEvent): void {
    const pan = { ArrowLeft: [40, 0], ArrowRight: [-40, 0], ArrowUp: [0, 40], ArrowDown: [0, -40] }[event.key];
    if (pan) this.panBy(pan[0] as number, pan[1] as number);
    else if (event.key === '+' || event.key === '=') this.zoomBy(1.2);
    else if (event.key === '-') this.zoomBy(1 / 1.2);
    else return;
    event.preventDefault();
  }
}
