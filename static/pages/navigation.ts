/** Small help for links and forms: what submits by itself, rows that open, the way on after a conflict. */

import { text } from './messages';
import { onContent } from './partials';

const TICK_MS = 1000;

/** Follows the link when its seconds are over; any key or pointer movement stops it. */
function countDown(link: HTMLElement): void {
  const note = document.querySelector<HTMLElement>('[data-countdown-note]');
  let left = Number(link.dataset.countdown);
  const stop = () => {
    window.clearInterval(timer);
    document.removeEventListener('keydown', stop);
    document.removeEventListener('pointermove', stop);
    if (note) note.textContent = '';
  };
  const tick = () => {
    if (!link.isConnected) return stop();
    if (note) note.textContent = text('next_in', { seconds: left });
    if (left === 0) {
      stop();
      link.click();
    }
    left -= 1;
  };
  const timer = window.setInterval(tick, TICK_MS);
  document.addEventListener('keydown', stop);
  document.addEventListener('pointermove', stop);
  tick();
}

/** Marks the row whose task is shown. */
function markCurrent(task: HTMLElement): void {
  for (const row of document.querySelectorAll<HTMLElement>('[data-task]')) {
    const current = row.dataset.task === task.dataset.taskId;
    row.classList.toggle('is-current', current);
    if (current && task.dataset.unopened === undefined) row.classList.remove('is-unread');
  }
}

/** Somebody began to read the task that stood beside the list by itself. */
function markOpened(): void {
  const task = document.getElementById('task');
  if (!task) return;
  delete task.dataset.unopened;
  markCurrent(task);
}

/** Keeps a second press from sending a form twice; going back in history gives the button back. */
function guardSubmit(form: HTMLFormElement): void {
  if (form.method !== 'post' || form.hasAttribute('hx-post')) return;
  const buttons = form.id ? document.querySelectorAll<HTMLButtonElement>(`[form="${form.id}"]`) : [];
  // After this turn, so that the pressed button's own value still travels.
  window.setTimeout(() => {
    for (const button of [...form.querySelectorAll<HTMLButtonElement>('button[type=submit]'), ...buttons]) {
      button.disabled = true;
    }
  });
  window.addEventListener('pageshow', () => {
    for (const button of form.querySelectorAll<HTMLButtonElement>('button[type=submit]')) button.disabled = false;
  });
}

/** Registers the listeners. */
export function startNavigation(): void {
  document.addEventListener('submit', (event) => {
    const form = event.target as HTMLFormElement;
    const back = form.matches('.lang-form') ? form.elements.namedItem('next') : null;
    // htmx may have changed the address since the form was written.
    if (back instanceof HTMLInputElement) back.value = window.location.pathname + window.location.search;
    if (!event.defaultPrevented) guardSubmit(event.target as HTMLFormElement);
  });
  document.addEventListener('click', (event) => {
    const button = (event.target as Element).closest<HTMLElement>('[data-fill]');
    const form = button?.closest('form') ?? document.querySelector<HTMLFormElement>('form[data-fillable]');
    if (!button || !form) return;
    for (const [name, value] of Object.entries(JSON.parse(button.dataset.fill ?? '{}') as Record<string, string>)) {
      const field = form.elements.namedItem(name);
      if (field instanceof HTMLInputElement) field.value = value;
    }
    form.requestSubmit();
  });
  document.addEventListener('click', (event) => {
    const link = (event.target as Element).closest('[data-row] a[hx-target="#task"]');
    // On a phone the task takes the list's place.
    link?.closest('.split')?.classList.add('detail-first');
  });
  onContent((root) => {
    for (const link of root.querySelectorAll<HTMLElement>('[data-countdown]')) countDown(link);
  });
  document.body.addEventListener('waypost:opened', markOpened);
  document.body.addEventListener('htmx:afterSettle', (event) => {
    const shown = event.target as HTMLElement;
    if (shown.id === 'task' && shown.dataset.taskId) markCurrent(shown);
  });
}
