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

function openMenu(): HTMLDetailsElement | null {
  return document.querySelector<HTMLDetailsElement>('details.menu[open]');
}

function close(menu: HTMLDetailsElement, refocus: boolean): void {
  menu.open = false;
  if (refocus) menu.querySelector<HTMLElement>('summary')?.focus();
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
