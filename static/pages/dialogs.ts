/** Native dialogs: `data-dialog="id"` opens, `data-close` closes, `data-open` stands open after a refusal. */

import { onContent } from './partials';

function open(id: string): void {
  const dialog = document.getElementById(id);
  if (!(dialog instanceof HTMLDialogElement) || dialog.open) return;
  dialog.showModal();
  dialog.querySelector<HTMLElement>('[aria-invalid="true"], [autofocus]')?.focus();
}

/** Registers one listener for the document. */
export function startDialogs(): void {
  document.addEventListener('click', (event) => {
    const target = event.target as Element;
    const opener = target.closest<HTMLElement>('[data-dialog]');
    if (opener?.dataset.dialog) {
      open(opener.dataset.dialog);
      return;
    }
    const closer = target.closest<HTMLElement>('[data-close]');
    if (closer) closer.closest<HTMLDialogElement>('dialog')?.close();
    closer?.closest('.toast')?.remove();
    // A click on the backdrop reports the dialog itself as its target.
    if (target instanceof HTMLDialogElement && target.open) target.close();
  });
  onContent((root) => {
    for (const dialog of root.querySelectorAll<HTMLDialogElement>('dialog[data-open]')) open(dialog.id);
  });
}
