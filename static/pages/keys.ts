/** Single-letter shortcuts; off while typing, while a dialog is open, and when the account switched them off. */

import { isInPanel } from './bell';
import { keysEnabled } from './preferences';
import { toggleRow } from './selection';

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || target.matches('input:not([type=checkbox]):not([type=radio]), textarea, select');
}

function rows(): HTMLElement[] {
  return [...document.querySelectorAll<HTMLElement>('[data-row]')].filter((row) => row.offsetParent !== null);
}

/** Moves the focus to the link of the next or previous row of the list. */
function moveRow(step: number): void {
  const all = rows();
  if (all.length === 0) return;
  const focused = document.activeElement?.closest<HTMLElement>('[data-row]');
  const current = focused ?? all.find((row) => row.matches('.is-current'));
  const at = current ? all.indexOf(current) : -1;
  const next = all[Math.min(Math.max(at + step, 0), all.length - 1)];
  const link = next?.querySelector<HTMLElement>('a');
  link?.focus({ preventScroll: true });
  next?.scrollIntoView({ block: 'nearest' });
}

/** Presses or focuses what carries `data-key`, if it can be used now. */
function press(key: string): boolean {
  const target = document.querySelector<HTMLElement>(`[data-key="${CSS.escape(key)}"]`);
  if (!target || target.matches(':disabled') || target.offsetParent === null) return false;
  if (target.matches('input, textarea')) target.focus();
  else target.click();
  return true;
}

function handled(key: string): boolean {
  if (key === 'j' || key === 'k') {
    moveRow(key === 'j' ? 1 : -1);
    return true;
  }
  if (key === 'x' && toggleRow()) return true;
  return press(key);
}

/** Registers the listener. */
export function startKeys(): void {
  document.addEventListener('keydown', (event) => {
    if (event.key === 'Escape' && isTyping(event.target)) {
      (event.target as HTMLElement).blur();
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || event.isComposing) return;
    if (isTyping(event.target) || document.querySelector('dialog[open]') || !keysEnabled()) return;
    if (isInPanel(event.target)) return;
    if (handled(event.key)) event.preventDefault();
  });
}
