/** Keeps counts, the open task and the open request fresh: one small request with an ETag, nothing holds a connection. */

import { text } from './messages';

const IDLE_MS = 15_000;
const TASK_MS = 5_000;

interface Live {
  tasks: number;
  notices: string;
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

/** Shows the bell's count and reads it out when it changed; the list of notices reloads itself then. */
function showNotices(count: string): void {
  const bell = document.querySelector<HTMLElement>('[data-live="notices"]');
  if (!bell || bell.dataset.count === count) return;
  const words = count === '0' ? (bell.dataset.label ?? '') : text('bell.count', { count });
  bell.dataset.count = count;
  bell.setAttribute('aria-label', words);
  const badge = bell.querySelector<HTMLElement>('.badge');
  if (badge) {
    badge.textContent = count;
    badge.hidden = count === '0';
  }
  const region = document.getElementById('announce');
  if (region) region.textContent = words;
  announce('notices');
}

/** Lets the part reload itself (htmx listens) when its state is another than the one it shows. */
function showState(element: HTMLElement | null, state: string, what: string): void {
  if (!element || !state || state === element.dataset.liveState) return;
  // What somebody types into an open question must not be swapped away; the next turn asks again.
  if (element.querySelector('dialog[open]')) return;
  element.dataset.liveState = state;
  announce(what);
}

/** Asks for the counts, and with `states` for what the page shows: then it may be swapped for its present state. */
async function ask(states = true): Promise<void> {
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
  showNotices(now.notices);
  if (!states) return;
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
  // What was told of the task is read now: the bell need not wait. Nothing is swapped: somebody has begun to type.
  document.body.addEventListener('waypost:opened', () => void ask(false).catch(() => undefined));
  document.body.addEventListener('htmx:afterSettle', (event) => {
    // A decision changed the counts: the navigation need not wait for the next turn.
    if ((event.target as HTMLElement).matches('#inbox, [data-counts]')) void ask().catch(() => undefined);
  });
}
