/** The one place that knows htmx: its events, the CSRF header, the loading line, failed requests. */

import { text } from './messages';
import { showToast } from './toasts';

interface RequestDetail {
  verb: string;
  headers: Record<string, string>;
  parameters: Record<string, unknown>;
  xhr: XMLHttpRequest;
}

const LOADING_AFTER_MS = 300;

function detailOf(event: Event): RequestDetail {
  return (event as CustomEvent<RequestDetail>).detail;
}

/** Calls back once for the whole page and again for every part that htmx puts into it. */
export function onContent(callback: (root: HTMLElement) => void): void {
  callback(document.body);
  document.body.addEventListener('htmx:afterSettle', (event) => callback(event.target as HTMLElement));
}

/** What a refusal says: the error page and the Problem Details document carry the same sentence. */
function problemOf(xhr: XMLHttpRequest): string {
  const kind = xhr.getResponseHeader('Content-Type') ?? '';
  if (kind.includes('html')) {
    const page = new DOMParser().parseFromString(xhr.responseText, 'text/html');
    return page.querySelector('[data-detail]')?.textContent ?? '';
  }
  return '';
}

function showFailure(xhr: XMLHttpRequest): void {
  if (xhr.status === 401) {
    window.location.reload();
    return;
  }
  showToast({
    state: 'faulted',
    title: text('failed.title'),
    sub: problemOf(xhr) || text('failed.server', { status: xhr.status }),
    requestId: xhr.getResponseHeader('X-Request-Id') ?? '',
  });
}

/** Tells readers of the screen how many rows a list has now: what is swapped in is not read by itself. */
function announce(list: HTMLElement): void {
  const region = document.getElementById('announce');
  const words = list.querySelector('[data-announce]')?.textContent;
  if (region && words) region.textContent = words;
}

/** Registers the listeners. */
export function startPartials(): void {
  let timer = 0;
  let running = 0;
  const root = document.documentElement;
  const body = document.body;

  body.addEventListener('htmx:configRequest', (event) => {
    const token = document.querySelector<HTMLMetaElement>('meta[name="csrf-token"]')?.content ?? '';
    const { headers, parameters, verb } = detailOf(event);
    headers['X-CSRFToken'] = token;
    // A filter that is not set has no place in the address.
    if (verb === 'get') {
      for (const name of Object.keys(parameters)) if (parameters[name] === '') delete parameters[name];
    }
  });
  body.addEventListener('htmx:beforeRequest', () => {
    running += 1;
    if (running === 1) timer = window.setTimeout(() => root.classList.add('is-loading'), LOADING_AFTER_MS);
  });
  body.addEventListener('htmx:afterRequest', () => {
    running = Math.max(0, running - 1);
    if (running > 0) return;
    window.clearTimeout(timer);
    root.classList.remove('is-loading');
  });
  body.addEventListener('htmx:responseError', (event) => showFailure(detailOf(event).xhr));
  body.addEventListener('htmx:sendError', () => {
    showToast({ state: 'faulted', title: text('failed.title'), sub: text('failed.network') });
  });
  body.addEventListener('htmx:afterSettle', (event) => {
    const shown = event.target as HTMLElement;
    shown.querySelector<HTMLElement>('[data-focus]')?.focus({ preventScroll: true });
    if (shown.matches('#list, #bell-panel')) announce(shown);
  });
}
