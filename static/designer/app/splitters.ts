/** Panes can be made wider and narrower, by pointer and by keys; the browser remembers how wide. */
import type { Translate } from '../model/describe';
import { html } from '../view/html';

interface Pane {
  readonly name: 'palette' | 'props' | 'dock';
  readonly property: string;
  readonly size: number;
  readonly least: number;
  readonly most: number;
  /** Which way grows the pane: along or against the axis. */
  readonly direction: 1 | -1;
  readonly axis: 'x' | 'y';
}

const PANES: readonly Pane[] = [
  { name: 'palette', property: '--palette-w', size: 208, least: 172, most: 360, direction: 1, axis: 'x' },
  { name: 'props', property: '--props-w', size: 316, least: 280, most: 560, direction: -1, axis: 'x' },
  { name: 'dock', property: '--dock-h', size: 162, least: 96, most: 480, direction: -1, axis: 'y' },
];

const STEP = 16;

function remembered(name: string): number | undefined {
  const value = Number(localStorage.getItem(`waypost.pane.${name}`));
  return Number.isFinite(value) && value > 0 ? value : undefined;
}

function splitter(mount: HTMLElement, pane: Pane, t: Translate, resized: () => void): HTMLElement {
  let size = pane.size;
  const bar = html('div', {
    class: `splitter of-${pane.name}`,
    role: 'separator',
    tabindex: '0',
    'aria-orientation': pane.axis === 'x' ? 'vertical' : 'horizontal',
    'aria-label': t(`designer.splitter.${pane.name}`),
    'aria-valuemin': pane.least,
    'aria-valuemax': pane.most,
  });
  const set = (wanted: number, keep: boolean) => {
    size = Math.round(Math.min(pane.most, Math.max(pane.least, wanted)));
    mount.style.setProperty(pane.property, `${size}px`);
    bar.setAttribute('aria-valuenow', String(size));
    if (keep) localStorage.setItem(`waypost.pane.${pane.name}`, String(size));
    resized();
  };
  bar.addEventListener('pointerdown', (down) => {
    bar.setPointerCapture(down.pointerId);
    const start = size;
    const from = pane.axis === 'x' ? down.clientX : down.clientY;
    const move = (event: PointerEvent) => {
      set(start + pane.direction * ((pane.axis === 'x' ? event.clientX : event.clientY) - from), false);
    };
    bar.addEventListener('pointermove', move);
    bar.addEventListener(
      'lostpointercapture',
      () => {
        bar.removeEventListener('pointermove', move);
        set(size, true);
      },
      { once: true },
    );
  });
  bar.addEventListener('keydown', (event) => {
    const keys = pane.axis === 'x' ? { ArrowRight: 1, ArrowLeft: -1 } : { ArrowDown: 1, ArrowUp: -1 };
    const step = (keys as Record<string, number>)[event.key];
    if (step === undefined) return;
    event.preventDefault();
    set(size + pane.direction * step * STEP, true);
  });
  const before = remembered(pane.name);
  if (before === undefined) bar.setAttribute('aria-valuenow', String(size));
  else set(before, false);
  return bar;
}

export function makeResizable(mount: HTMLElement, t: Translate, resized: () => void): void {
  for (const pane of PANES) mount.append(splitter(mount, pane, t, resized));
}
