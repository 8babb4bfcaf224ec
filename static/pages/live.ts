/** Keeps counts, the open task and the open request fresh: one small request with an ETag, nothing holds a connection. */

const IDLE_MS = 15_000;
const TASK_MS = 5_000;

interface Live {
  tasks: number;
  task: string;
  instance: string;
}

function part(attribute: string): HTMLElement | null {
  return document.querySelector<HTMLElement>(`[data-live-${attribute}]`);
}

function announce(what: string): void {
  document.body.dispatchEvent(new CustomEvent(`waypost:${what}`));
}

function showCount(tasks: number): void {
  for (const badge of document.querySelectorAll<HTMLElement>('[data-live="inbox"]')) {
    const shown = tasks.toLocaleString('en');
    if (badge.textContent !== shown) announce('tasks');
    badge.textContent = shown;
    badge.hidden = tasks === 0;
  }
}

/** Lets the part reload itself (htmx listens) when its state is another than the one it shows. */
function showState(element: HTMLElement | null, state: string, what: string): void {
  if (!element || !state || state === element.dataset.liveState) return;
  element.dataset.liveState = state;
  announce(what);
}

async function ask(): Promise<void> {
  const task = part('task');
  const instance = part('instance');
  const query = new URLSearchParams({
    task: task?.dataset.liveTask ?? '',
    instance: instance?.dataset.liveInstance ?? '',
  });
  const answer = await fetch(`/live?${query}`, { cache: 'no-cache', headers: { Accept: 'application/json' } });
  if (!answer.ok) return;
  const now = (await answer.json()) as Live;
  showCount(now.tasks);
  showState(task, now.task, 'task');
  showState(instance, now.instance, 'instance');
}

/** Starts the polling on pages with the shell; a hidden tab asks nothing. */
export function startLive(): void {
  if (!document.querySelector('[data-live="inbox"]')) return;
  const again = () => window.setTimeout(run, part('task') ? TASK_MS : IDLE_MS);
  const run = () => {
    if (document.hidden) again();
    else
      void ask()
        .catch(() => undefined)
        .finally(again);
  };
  again();
  document.body.addEventListener('htmx:afterSettle', (event) => {
    // A decision changed the counts: the navigation need not wait for the next turn.
    if ((event.target as HTMLElement).id === 'inbox') void ask().catch(() => undefined);
  });
}
