/** Entry of the designer: fetches the definition and the activities, then builds the workbench in the page. */
import './designer.css';
import { Api, ApiError } from './app/api';
import { Session } from './app/session';
import { Workbench } from './app/workbench';
import { Activities } from './model/activities';
import { type DefinitionDoc, text, toDefinition } from './model/definition';
import { History } from './model/history';
import { html } from './view/html';
import { findSprite, icon } from './view/icons';
import { type Messages, translator, words } from './view/messages';

function pageMessages(): Messages {
  const block = document.getElementById('designer-messages')?.textContent ?? '{}';
  // biome-ignore lint/plugin: texts of the page, no document: there are no numbers in it
  return JSON.parse(block) as Messages;
}

function needed(id: string): HTMLElement {
  const element = document.getElementById(id);
  if (!element) throw new Error(`The page has no #${id}`);
  return element;
}

/** A region that reads out what happened on the canvas. */
function liveRegion(): (words: string) => void {
  const region = html('div', { class: 'vh', role: 'status', 'aria-live': 'polite' });
  document.body.append(region);
  return (words) => {
    // The same words twice are read twice only when something changes.
    region.textContent = region.textContent === words ? `${words} ` : words;
  };
}

function isReadOnly(mount: HTMLElement, doc: DefinitionDoc): boolean {
  return mount.dataset.readOnly === 'true' || (text(doc.status) !== '' && text(doc.status) !== 'Draft');
}

async function start(): Promise<void> {
  const mount = needed('designer');
  findSprite(mount);
  const t = translator(pageMessages());
  const csrf = document.querySelector<HTMLMetaElement>('meta[name="csrf-token"]')?.content ?? '';
  const api = new Api(csrf);
  const id = mount.dataset.definition ?? '';
  try {
    const [definition, activities] = await Promise.all([
      api.get(`/definitions/${encodeURIComponent(id)}`),
      api.get('/activities'),
    ]);
    const doc = toDefinition(definition);
    const history = new History(doc);
    const session = new Session(
      history,
      Activities.read(activities),
      api,
      t,
      words(t),
      isReadOnly(mount, doc),
      { edit: mount.dataset.canEdit !== 'false', publish: mount.dataset.canPublish !== 'false' },
      liveRegion(),
      mount.dataset.layoutWorker,
    );
    new Workbench(session, id, mount, {
      title: needed('designer-title'),
      facts: needed('designer-facts'),
      tools: needed('designer-tools'),
    });
  } catch (error) {
    const why = error instanceof ApiError ? error.message : t('designer.load.failed.help');
    mount.replaceChildren(
      html(
        'div',
        { class: 'empty middle', role: 'alert' },
        html('span', { class: 'art' }, icon('octagon-alert', 'l')),
        html('h2', {}, t('designer.load.failed')),
        html('p', {}, why),
        html(
          'button',
          { type: 'button', class: 'btn', click: () => window.location.reload() },
          t('designer.load.retry'),
        ),
      ),
    );
    if (!(error instanceof ApiError)) console.error(error);
  }
  document.documentElement.dataset.designer = 'ready';
}

void start();
