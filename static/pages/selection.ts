/** Rows that are selected: how many there are, and that they stay so when the list reloads itself. */

import { onContent } from './partials';

const BOXES = '[data-row] input.check';

function boxes(): HTMLInputElement[] {
  return [...document.querySelectorAll<HTMLInputElement>(BOXES)];
}

function showCount(): void {
  const selected = boxes().filter((box) => box.checked).length;
  for (const place of document.querySelectorAll<HTMLElement>('[data-selected]')) {
    place.textContent = selected.toLocaleString('en');
  }
}

/** Selects the row that has the focus, or the current one, or takes that back. */
export function toggleRow(): boolean {
  const row =
    document.activeElement?.closest('[data-row]') ?? document.querySelector<HTMLElement>('[data-row].is-current');
  const box = row?.querySelector<HTMLInputElement>('input.check');
  if (!box || box.offsetParent === null) return false;
  box.click();
  return true;
}

/** Registers the listeners. */
export function startSelection(): void {
  let kept = new Set<string>();
  document.addEventListener('change', (event) => {
    if ((event.target as Element).matches(BOXES)) showCount();
  });
  document.addEventListener('click', (event) => {
    if (!(event.target as Element).closest('[data-unselect]')) return;
    for (const box of boxes()) box.checked = false;
    showCount();
  });
  document.body.addEventListener('htmx:beforeSwap', () => {
    kept = new Set(boxes().flatMap((box) => (box.checked ? [box.value] : [])));
  });
  onContent(() => {
    for (const box of boxes()) if (kept.has(box.value)) box.checked = true;
    showCount();
  });
}
