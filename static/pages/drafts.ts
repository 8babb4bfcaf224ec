/** Keeps a comment that was not sent yet, so that no reload and no conflict loses it. */

import { onContent } from './partials';

function slot(area: HTMLTextAreaElement): string {
  return `waypost.draft.${area.dataset.draft}`;
}

/** Restores drafts in new content, stores them while typing, forgets them when they are sent. */
export function startDrafts(): void {
  onContent((root) => {
    for (const area of root.querySelectorAll<HTMLTextAreaElement>('textarea[data-draft]')) {
      if (!area.value) area.value = sessionStorage.getItem(slot(area)) ?? '';
    }
  });
  document.addEventListener('input', (event) => {
    const area = event.target;
    if (area instanceof HTMLTextAreaElement && area.dataset.draft) sessionStorage.setItem(slot(area), area.value);
  });
  document.addEventListener('submit', (event) => {
    const form = event.target as HTMLFormElement;
    for (const area of form.querySelectorAll<HTMLTextAreaElement>('textarea[data-draft]')) {
      sessionStorage.removeItem(slot(area));
    }
  });
}
