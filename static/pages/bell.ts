/** The bell opens a panel with the newest unread notices; it is filled when it opens. Without this script it is a link. */

let bell: HTMLElement | null = null;
let panel: HTMLElement | null = null;

function isOpen(): boolean {
  return panel !== null && !panel.hidden;
}

/** Whether the focus is in the open panel: single-letter keys are for the page beneath. */
export function isInPanel(target: EventTarget | null): boolean {
  return target instanceof Node && panel !== null && panel.contains(target);
}

function show(open: boolean): void {
  if (!bell || !panel) return;
  panel.hidden = !open;
  bell.setAttribute('aria-expanded', String(open));
  // htmx listens, and fetches what the panel shows.
  if (open) panel.dispatchEvent(new CustomEvent('waypost:bell'));
}

function close(refocus: boolean): void {
  if (!isOpen()) return;
  show(false);
  if (refocus) bell?.focus();
}

/** Keeps the panel as fresh as the number above it; not when it was the panel that changed the number. */
function refresh(): void {
  const shown = panel?.querySelector<HTMLElement>('[data-shown]')?.dataset.shown;
  if (isOpen() && shown !== bell?.dataset.count) panel?.dispatchEvent(new CustomEvent('waypost:bell'));
}

function listenToBell(button: HTMLElement): void {
  button.addEventListener('click', (event) => {
    // A new tab or window still gets the page.
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    show(!isOpen());
  });
  button.addEventListener('keydown', (event) => {
    if (event.key !== ' ') return;
    event.preventDefault();
    button.click();
  });
}

function listenToPage(): void {
  document.addEventListener('click', (event) => {
    const target = event.target as Node;
    // What was pressed inside may be gone by now: a part that was swapped out.
    if (target.isConnected && !panel?.contains(target) && !bell?.contains(target)) close(false);
  });
  document.addEventListener('focusin', (event) => {
    const target = event.target as Node;
    if (!panel?.contains(target) && !bell?.contains(target)) close(false);
  });
  document.addEventListener('keydown', (event) => {
    if (event.key === 'Escape') close(true);
  });
  document.body.addEventListener('waypost:notices', refresh);
  for (const failed of ['htmx:responseError', 'htmx:sendError']) {
    // The message says what went wrong; an empty panel would say that nothing is unread.
    document.body.addEventListener(failed, (event) => {
      if (event.target === panel && panel?.querySelector('[data-waits]')) close(true);
    });
  }
}

/** Registers the listeners on pages with a panel. */
export function startBell(): void {
  bell = document.querySelector<HTMLElement>('.bell');
  panel = document.getElementById('bell-panel');
  if (!bell || !panel) return;
  bell.setAttribute('role', 'button');
  bell.setAttribute('aria-expanded', 'false');
  bell.setAttribute('aria-controls', panel.id);
  listenToBell(bell);
  listenToPage();
}
