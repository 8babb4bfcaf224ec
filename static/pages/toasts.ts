/** Toasts: results leave after 6 s, errors stay until they are closed. */

import { text } from './messages';

export interface Toast {
  state: 'completed' | 'running' | 'faulted';
  title: string;
  sub?: string;
  requestId?: string;
}

const RESULT_MS = 6000;
const ICONS: Record<Toast['state'], string> = {
  completed: 'circle-check',
  running: 'info',
  faulted: 'octagon-alert',
};

function element<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  className: string,
  content = '',
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  made.className = className;
  made.textContent = content;
  return made;
}

/** An icon of the sprite that the page already uses. */
export function icon(name: string): SVGSVGElement {
  const space = 'http://www.w3.org/2000/svg';
  const known = document.querySelector('svg.i use')?.getAttribute('href') ?? '#';
  const svg = document.createElementNS(space, 'svg');
  const use = document.createElementNS(space, 'use');
  svg.setAttribute('class', 'i');
  svg.setAttribute('aria-hidden', 'true');
  use.setAttribute('href', `${known.slice(0, known.indexOf('#'))}#${name}`);
  svg.append(use);
  return svg;
}

function armed(toast: HTMLElement): void {
  if (toast.dataset.toast === 'faulted' || toast.dataset.armed) return;
  toast.dataset.armed = 'true';
  let timer = 0;
  const start = () => {
    timer = window.setTimeout(() => toast.remove(), RESULT_MS);
  };
  // Who reads with the pointer or the keyboard on the toast has all the time.
  toast.addEventListener('pointerenter', () => window.clearTimeout(timer));
  toast.addEventListener('pointerleave', start);
  toast.addEventListener('focusin', () => window.clearTimeout(timer));
  start();
}

/** Shows one toast made in the page. */
export function showToast(toast: Toast): void {
  const area = document.getElementById('toasts');
  if (!area) return;
  const box = element('div', `toast ${toast.state}`);
  box.dataset.toast = toast.state;
  box.setAttribute('role', toast.state === 'faulted' ? 'alert' : 'status');
  const words = element('p', '');
  words.append(element('b', '', toast.title));
  if (toast.sub) words.append(element('span', 'sub', toast.sub));
  if (toast.requestId) words.append(element('span', 'rid', text('request_id', { id: toast.requestId })));
  const close = element('button', 'icon-btn');
  close.type = 'button';
  close.dataset.close = '';
  close.setAttribute('aria-label', text('close'));
  close.append(icon('x'));
  box.append(icon(ICONS[toast.state]), words, close);
  area.append(box);
  armed(box);
}

/** Arms the toasts that the server wrote, now and after each partial answer. */
export function startToasts(): void {
  const area = document.getElementById('toasts');
  if (!area) return;
  const armAll = () => {
    for (const toast of area.querySelectorAll<HTMLElement>('.toast')) armed(toast);
  };
  armAll();
  new MutationObserver(armAll).observe(area, { childList: true });
}
