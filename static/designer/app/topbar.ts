/** The bar above: name, version, how saving stands, undo and redo, publish. */
import { text } from '../model/definition';
import { toPixels } from '../model/json';
import { fill, html } from '../view/html';
import { icon, iconButton } from '../view/icons';
import type { SaveState } from './saver';
import type { Session } from './session';

export interface TopbarHost {
  undo(): void;
  redo(): void;
  publish(): void;
  newVersion(button: HTMLButtonElement): void;
  rename(): void;
  /** Opens what a state of saving asks for: the comparison of a conflict, another try. */
  saveAction(state: SaveState): void;
}

const STATUS: Readonly<Record<string, readonly [string, string]>> = {
  Draft: ['draft', 'pencil'],
  Published: ['completed', 'circle-check'],
  Disabled: ['canceled', 'ban'],
  Archived: ['canceled', 'archive'],
};

const SAVE_ICONS: Readonly<Record<SaveState['kind'], string>> = {
  saved: 'cloud-check',
  waiting: 'pencil',
  saving: 'loader-circle',
  offline: 'cloud-off',
  conflict: 'triangle-alert',
  refused: 'octagon-alert',
};

export interface TopbarPlaces {
  readonly title: HTMLElement;
  readonly facts: HTMLElement;
  readonly tools: HTMLElement;
}

export class Topbar {
  private readonly undo: HTMLButtonElement;
  private readonly redo: HTMLButtonElement;
  private readonly save = html('span', { class: 'save-state', role: 'status' });
  private readonly pill = html('span', { class: 'pill' });

  constructor(
    private readonly session: Session,
    private readonly places: TopbarPlaces,
    private readonly host: TopbarHost,
  ) {
    const { t } = session;
    this.undo = iconButton(t('designer.undo'), 'undo-2', {
      click: () => host.undo(),
      'aria-keyshortcuts': 'Control+Z Meta+Z',
    });
    this.redo = iconButton(t('designer.redo'), 'redo-2', {
      click: () => host.redo(),
      'aria-keyshortcuts': 'Control+Shift+Z Meta+Shift+Z',
    });
    const rename = iconButton(t('designer.rename'), 'pencil', { class: 'xs', click: () => host.rename() });
    rename.firstElementChild?.classList.add('s');
    fill(places.facts, !session.readOnly && rename, this.pill, !session.readOnly && this.save);
    fill(places.tools, ...(session.readOnly ? this.readingTools() : this.editingTools()));
    this.refresh();
  }

  private editingTools(): readonly HTMLElement[] {
    const { t } = this.session;
    const publish = html(
      'button',
      { type: 'button', class: 'btn primary', click: () => this.host.publish() },
      t('designer.publish'),
    );
    const parts = [this.undo, this.redo];
    return this.session.rights.publish ? [...parts, html('span', { class: 'sep' }), publish] : parts;
  }

  private readingTools(): readonly HTMLElement[] {
    const { t } = this.session;
    const button = html(
      'button',
      { type: 'button', class: 'btn primary', click: () => this.host.newVersion(button) },
      t('designer.new_version'),
    );
    return this.session.rights.edit ? [button] : [];
  }

  /** Undo says what it takes back. */
  refresh(): void {
    const { session } = this;
    const { t, history, doc } = session;
    this.places.title.textContent = text(doc.displayName) || text(doc.name);
    const label = (button: HTMLButtonElement, plain: string, named: string, step: string | undefined) => {
      const words = step ? t(named, { step }) : t(plain);
      button.disabled = step === undefined;
      button.setAttribute('aria-label', words);
      button.title = words;
    };
    label(this.undo, 'designer.undo', 'designer.undo_step', history.undoLabel);
    label(this.redo, 'designer.redo', 'designer.redo_step', history.redoLabel);
    const status = text(doc.status) || 'Draft';
    const [state, sign] = STATUS[status] ?? ['canceled', 'circle-help'];
    this.pill.className = `pill ${state}`;
    const version = String(toPixels(doc.version) ?? '');
    fill(this.pill, icon(sign), t(`designer.status.${status}`, { version }));
  }

  showSaving(state: SaveState): void {
    const { t } = this.session;
    this.save.dataset.state = state.kind;
    this.save.title = state.kind === 'refused' ? state.message : '';
    fill(this.save, icon(SAVE_ICONS[state.kind]), this.savingWords(state));
    if (state.kind === 'conflict' || state.kind === 'refused' || state.kind === 'offline') {
      const words = t(state.kind === 'conflict' ? 'designer.save.compare' : 'designer.save.retry');
      this.save.append(
        html('button', { type: 'button', class: 'btn sm', click: () => this.host.saveAction(state) }, words),
      );
    }
  }

  private savingWords(state: SaveState): string {
    const { t } = this.session;
    if (state.kind === 'saved') return t('designer.save.saved', { at: clock(state.at) });
    if (state.kind === 'offline') return t('designer.save.offline', { count: state.changes });
    if (state.kind === 'conflict') {
      const who = text(state.details.updatedBy);
      return who ? t('designer.save.conflict', { who }) : t('designer.save.conflict_unknown');
    }
    return t(`designer.save.${state.kind}`);
  }
}

/** Hours and minutes as the reader's clock shows them. */
export function clock(at: Date): string {
  return at.toLocaleTimeString(document.documentElement.lang || 'en', {
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  });
}
