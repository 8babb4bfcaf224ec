/** Keeps a comment that was not sent yet, so that no reload and no conflict loses it. */

import { onContent } from './partials';

const REFUSED = 400;

function slot(name: string | undefined): string {
  return `waypost.draft.${name}`;
}

/** Shows what was typed for a task that is over: its field is gone, the words are not. */
function showUnsent(block: HTMLElement): void {
  const words = sessionStorage.getItem(slot(block.dataset.unsent));
  const quote = block.querySelector('.quote');
  if (!words || !quote) return;
  quote.textContent = words;
  block.hidden = false;
}

/** Restores drafts in new content, stores them while typing, forgets them when they were taken. */
export function startDrafts(): void {
  onContent((root) => {
    for (const area of root.querySelectorAll<HTMLTextAreaElement>('textarea[data-draft]')) {
      if (!area.value) area.value = sessionStorage.getItem(slot(area.dataset.draft)) ?? '';
    }
    for (const block of root.querySelectorAll<HTMLElement>('[data-unsent]')) showUnsent(block);
  });
  document.addEventListener('input', (event) => {
    const area = event.target;
    if (area instanceof HTMLTextAreaElement && area.dataset.draft)
      sessionStorage.setItem(slot(area.dataset.draft), area.value);
  });
  // Only what the server took is forgotten: a refusal, a lost session or a lost line must not cost the words.
  document.body.addEventListener('htmx:beforeOnLoad', (event) => {
    const { elt, xhr } = (event as CustomEvent<{ elt: HTMLElement; xhr: XMLHttpRequest }>).detail;
    if (xhr.status >= REFUSED || !(elt instanceof HTMLFormElement)) return;
    for (const area of elt.querySelectorAll<HTMLTextAreaElement>('textarea[data-draft]')) {
      sessionStorage.removeItem(slot(area.dataset.draft));
    }
  });
}
