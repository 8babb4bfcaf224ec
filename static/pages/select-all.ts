/** The box in a table's head that selects every row of the page, or none. */

/** Registers the listener. */
export function startSelectAll(): void {
  document.addEventListener('change', (event) => {
    const all = event.target;
    if (!(all instanceof HTMLInputElement) || !all.matches('[data-select-all]')) return;
    for (const box of document.querySelectorAll<HTMLInputElement>('[data-row] input.check')) {
      if (box.checked === all.checked) continue;
      box.checked = all.checked;
      box.dispatchEvent(new Event('change', { bubbles: true }));
    }
  });
}
