/** What a person sets for this browser: single-letter keys on or off. */

const KEYS = 'waypost.keys';

/** Whether single-letter shortcuts are on here. */
export function keysEnabled(): boolean {
  return localStorage.getItem(KEYS) !== 'off';
}

/** Connects the switch of the account page, when it is there. */
export function startPreferences(): void {
  const box = document.querySelector<HTMLInputElement>('[data-preference="keys"]');
  if (!box) return;
  box.checked = keysEnabled();
  box.addEventListener('change', () => localStorage.setItem(KEYS, box.checked ? 'on' : 'off'));
}
