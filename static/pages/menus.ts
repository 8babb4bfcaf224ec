/** Menus are <details>: this only closes them, and moves through their entries with the arrows. */

function entries(menu: HTMLDetailsElement): HTMLElement[] {
  return [
    ...menu.querySelectorAll<HTMLElement>('.menu-list a, .menu-list button, .menu-list input, .menu-list select'),
  ];
}

function move(menu: HTMLDetailsElement, step: number): void {
  const all = entries(menu);
  const at = all.indexOf(document.activeElement as HTMLElement);
  all.at((at + step + all.length) % all.length)?.focus();
}

const GAP = 4;

function openMenu(): HTMLDetailsElement | null {
  return document.querySelector<HTMLDetailsElement>('details.menu[open]');
}

function close(menu: HTMLDetailsElement, refocus: boolean): void {
  menu.open = false;
  if (refocus) menu.querySelector<HTMLElement>('summary')?.focus();
}

/** Lays a menu of a table row over the page: the table cuts off what hangs out of it. */
function place(menu: HTMLDetailsElement): void {
  const list = menu.querySelector<HTMLElement>('.menu-list');
  if (!list || !menu.closest('.table-wrap')) return;
  const anchor = menu.getBoundingClientRect();
  list.style.position = 'fixed';
  list.style.inset = 'auto';
  const fitsBelow = anchor.bottom + list.offsetHeight + GAP < window.innerHeight;
  list.style.top = `${fitsBelow ? anchor.bottom + GAP : Math.max(GAP, anchor.top - list.offsetHeight - GAP)}px`;
  list.style.left = `${Math.max(GAP, anchor.right - list.offsetWidth)}px`;
}

/** Registers the listeners. */
export function startMenus(): void {
  document.addEventListener('click', (event) => {
    const target = event.target as Element;
    for (const menu of document.querySelectorAll<HTMLDetailsElement>('details.menu[open]')) {
      const inside = menu.contains(target);
      const chosen = inside && target.closest('.menu-list a, .menu-list button');
      if (!inside || chosen) close(menu, false);
    }
  });
  // `toggle` does not bubble.
  document.addEventListener(
    'toggle',
    (event) => {
      if (event.target instanceof HTMLDetailsElement && event.target.matches('.menu[open]')) place(event.target);
    },
    true,
  );
  document.addEventListener(
    'scroll',
    () => {
      const menu = openMenu();
      if (menu?.closest('.table-wrap')) close(menu, false);
    },
    true,
  );
  document.addEventListener('keydown', (event) => {
    const menu = openMenu();
    if (!menu) return;
    if (event.key === 'Escape') close(menu, true);
    else if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      if (document.activeElement instanceof HTMLSelectElement) return;
      event.preventDefault();
      move(menu, event.key === 'ArrowDown' ? 1 : -1);
    }
  });
}
