/** Names of a template that are pressed go where the caret was last, in the field of the same form. */

type Field = HTMLInputElement | HTMLTextAreaElement;

function insertable(target: EventTarget | null): Field | null {
  return target instanceof Element ? target.closest<Field>('[data-insertable]') : null;
}

/** Registers the listeners. */
export function startInserting(): void {
  let last: Field | null = null;
  document.addEventListener('focusin', (event) => {
    last = insertable(event.target) ?? last;
  });
  document.addEventListener('click', (event) => {
    const button = (event.target as Element).closest<HTMLElement>('[data-insert]');
    const form = button?.closest('form');
    if (!button || !form) return;
    const all = form.querySelectorAll<Field>('[data-insertable]');
    const field = last && form.contains(last) ? last : all[all.length - 1];
    if (!field) return;
    field.focus();
    field.setRangeText(button.dataset.insert ?? '', field.selectionStart ?? 0, field.selectionEnd ?? 0, 'end');
    field.dispatchEvent(new Event('input', { bubbles: true }));
  });
}
