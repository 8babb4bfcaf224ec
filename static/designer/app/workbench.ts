/** Puts the designer together: panes, history, checking, saving; and keeps them in step. */

import { keysEnabled } from '../../pages/preferences';
import { showToast } from '../../pages/toasts';
import { sameContent } from '../model/compare';
import { type DefinitionDoc, nodeOf, text, toDefinition, transitionKeyOf } from '../model/definition';
import { remove } from '../model/edits';
import type { Change } from '../model/history';
import { isObject, type JsonObject, toPixels } from '../model/json';
import { type Problem, readProblems } from '../model/problems';
import { sceneOf } from '../model/scene';
import { readingOrder } from '../model/walk';
import { Dock } from '../panels/dock';
import { Palette } from '../panels/palette';
import { Properties } from '../panels/properties';
import { VariablesPanel } from '../panels/variables';
import { html } from '../view/html';
import { icon } from '../view/icons';
import { Actions } from './actions';
import { ApiError, ifMatch, OfflineError } from './api';
import { CanvasPane } from './canvasPane';
import { showConflict } from './conflict';
import { Dialog } from './dialog';
import { listenForKeys } from './keys';
import { Publishing } from './publishing';
import { Rescue } from './rescue';
import { Saver, type SaveState, type Written } from './saver';
import type { Session } from './session';
import { makeResizable } from './splitters';
import { clock, Topbar, type TopbarPlaces } from './topbar';

const CHECK_AFTER_MS = 600;
const PUBLISHED_KEY = 'waypost.published';

function revisionOf(doc: DefinitionDoc): string {
  return String(toPixels(doc.revision) ?? 0);
}

export class Workbench {
  private readonly actions: Actions;
  private readonly pane: CanvasPane;
  private readonly palette: Palette | undefined;
  private readonly properties: Properties;
  private readonly variables: VariablesPanel;
  private readonly dock: Dock;
  private readonly topbar: Topbar;
  private readonly saver: Saver;
  private readonly publishing: Publishing;
  private readonly rescue: Rescue;
  private checkTimer = 0;
  private checks = 0;

  constructor(
    private readonly session: Session,
    private readonly id: string,
    mount: HTMLElement,
    places: TopbarPlaces,
  ) {
    this.rescue = new Rescue(id, localStorage);
    this.actions = new Actions(session, () => this.pane.editor);
    this.pane = new CanvasPane(session, this.actions, {
      onSelection: (elements) => this.properties?.select(elements),
      onOpen: () => this.properties.focus(),
    });
    this.palette = session.readOnly ? undefined : this.makePalette();
    this.properties = new Properties(session, {
      swap: () => this.pane.pickSwap(),
      openVariables: () => this.openVariables(),
      renamed: (_from, to) => queueMicrotask(() => this.pane.editor.select([to])),
    });
    this.variables = new VariablesPanel(session);
    this.dock = new Dock(session, this.variables, {
      goTo: (problem) => this.goTo(problem),
      fixFor: (problem) => this.fixFor(problem),
      resized: () => this.pane.resized(),
    });
    this.saver = this.makeSaver();
    this.topbar = this.makeTopbar(places);
    this.publishing = this.makePublishing();
    this.build(mount);
  }

  private build(mount: HTMLElement): void {
    const { session } = this;
    const parts = [
      this.narrowNote(),
      this.palette?.element,
      this.pane.element,
      this.properties.element,
      this.dock.element,
    ];
    mount.replaceChildren(...parts.filter((part) => part !== undefined));
    mount.classList.toggle('is-reading', session.readOnly);
    if (session.readOnly) this.pane.element.append(this.readingNote());
    else makeResizable(mount, session.t, () => this.pane.resized());
    this.pane.show();
    this.pane.resized();
    this.pane.editor.home(readingOrder(session.doc)[0]);
    this.properties.select([]);
    session.history.onChange((change) => this.changed(change));
    this.listen();
    void this.check();
    this.topbar.showSaving({ kind: 'saved', at: new Date(Date.parse(text(session.doc.updatedAt)) || Date.now()) });
    this.welcome();
    this.offerKept();
  }

  private makePalette(): Palette {
    return new Palette(this.session, {
      drag: (event, type) => this.pane.editor.startAdding(event, type),
      add: (type) => this.actions.addAfter(type),
    });
  }

  private narrowNote(): HTMLElement {
    const { t } = this.session;
    const words = html(
      'p',
      {},
      html('b', {}, t('designer.narrow')),
      html('span', { class: 'sub' }, t('designer.narrow.help')),
    );
    return html('div', { class: 'banner running narrow-note' }, icon('monitor'), words);
  }

  private readingNote(): HTMLElement {
    const { t, doc } = this.session;
    const status = text(doc.status) || 'Published';
    return html(
      'p',
      { class: 'reading-note' },
      icon('eye'),
      t(`designer.reading.${status}`, { version: toPixels(doc.version) ?? '' }),
    );
  }

  private welcome(): void {
    const published = sessionStorage.getItem(PUBLISHED_KEY);
    sessionStorage.removeItem(PUBLISHED_KEY);
    if (published !== this.id) return;
    const { t, doc } = this.session;
    showToast({
      state: 'completed',
      title: t('designer.published', { version: toPixels(doc.version) ?? '' }),
      sub: t('designer.published.help'),
    });
  }

  private makeTopbar(places: TopbarPlaces): Topbar {
    return new Topbar(this.session, places, {
      undo: () => this.session.history.undo(),
      redo: () => this.session.history.redo(),
      publish: () => void this.publishing.ask(),
      newVersion: (button) => void this.newVersion(button),
      rename: () => {
        this.pane.editor.select([]);
        this.properties.focus(['displayName']);
      },
      saveAction: (state) => {
        if (state.kind === 'conflict') void this.conflict(state.details);
        else void this.saver.flush();
      },
    });
  }

  private makePublishing(): Publishing {
    return new Publishing(this.session, {
      definitionId: this.id,
      revision: () => this.saver.currentRevision,
      flush: () => this.saver.flush(),
      showProblems: (problems) => {
        this.showProblems(problems);
        this.dock.open('problems');
      },
      published: () => {
        sessionStorage.setItem(PUBLISHED_KEY, this.id);
        window.location.reload();
      },
      failed: (error) => this.failed('designer.publish.failed', error),
    });
  }

  private makeSaver(): Saver {
    return new Saver(revisionOf(this.session.doc), {
      write: (doc, at) => this.write(doc, at),
      later: (milliseconds, callback) => {
        const timer = window.setTimeout(callback, milliseconds);
        return () => window.clearTimeout(timer);
      },
      now: () => new Date(),
      report: (state) => this.reportSaving(state),
    });
  }

  private async write(doc: DefinitionDoc, revision: string): Promise<Written> {
    try {
      const saved = await this.session.api.send('PUT', this.path(), doc, ifMatch(revision));
      const next = isObject(saved) ? toPixels(saved.revision) : undefined;
      return { ok: true, revision: String(next ?? Number(revision) + 1) };
    } catch (error) {
      if (error instanceof OfflineError || (error instanceof ApiError && error.passing))
        return { ok: false, why: 'unreachable' };
      if (error instanceof ApiError && error.status === 412) return { ok: false, why: 'stale', details: error.details };
      return { ok: false, why: 'refused', message: error instanceof Error ? error.message : String(error) };
    }
  }

  private reportSaving(state: SaveState): void {
    this.topbar.showSaving(state);
    if (state.kind === 'saved') this.rescue.forget();
    else if (state.kind !== 'waiting' && state.kind !== 'saving') this.keepHere();
    document.documentElement.dataset.save = state.kind;
    if (state.kind === 'conflict') void this.conflict(state.details);
    if (state.kind === 'refused') {
      showToast({ state: 'faulted', title: this.session.t('designer.save.refused'), sub: state.message });
    }
  }

  private keepHere(): void {
    this.rescue.keep({ doc: this.session.doc, revision: this.saver.currentRevision });
  }

  /** Changes that an earlier visit could not write: they are offered, and meet the draft as a save of then. */
  private offerKept(): void {
    const kept = this.session.readOnly ? undefined : this.rescue.kept();
    if (!kept) return;
    if (sameContent(kept.doc, this.session.doc)) {
      this.rescue.forget();
      return;
    }
    const { t } = this.session;
    const dialog = new Dialog(t('designer.rescue.title'));
    dialog.fill(
      [html('p', {}, t('designer.rescue.help'))],
      [
        { label: t('designer.rescue.discard'), act: () => this.rescue.forget() },
        {
          label: t('designer.rescue.restore'),
          kind: 'primary',
          act: () => {
            this.session.history.load(kept.doc);
            this.saver.reset(kept.revision);
            this.saver.changed(kept.doc);
          },
        },
      ],
    );
    dialog.open();
  }

  private path(): string {
    return `/definitions/${encodeURIComponent(this.id)}`;
  }

  private changed(change: Change): void {
    this.pane.show();
    if (change.kind === 'undo' || change.kind === 'redo') {
      this.pane.selectChanged(sceneOf(change.before), sceneOf(change.after));
      this.session.say(this.session.t(`designer.said.${change.kind}`, { step: change.label }));
    }
    this.properties.refresh();
    this.variables.refresh();
    this.palette?.refresh();
    this.dock.refresh();
    this.topbar.refresh();
    if (change.kind !== 'load') this.saver.changed(change.after);
    window.clearTimeout(this.checkTimer);
    this.checkTimer = window.setTimeout(() => void this.check(), CHECK_AFTER_MS);
  }

  /** Asks the server what is wrong with what is here; an older answer is dropped. */
  private async check(): Promise<void> {
    this.checks += 1;
    const ticket = this.checks;
    const { doc, api } = this.session;
    try {
      const answer = await api.send('POST', `${this.path()}/validate`, doc);
      if (ticket !== this.checks) return;
      this.showProblems(readProblems(doc, answer));
    } catch {
      if (ticket === this.checks) this.dock.unreachable();
    }
  }

  private showProblems(problems: readonly Problem[]): void {
    this.session.problems = problems;
    this.dock.show(problems, clock(new Date()));
    this.pane.showProblems();
    this.properties.showProblems();
    this.variables.showProblems();
    document.documentElement.dataset.problems = String(problems.filter(({ severity }) => severity === 'error').length);
  }

  private goTo(problem: Problem): void {
    const { target } = problem;
    this.pane.goTo(target);
    if (target.kind === 'variable') {
      this.openVariables();
      this.variables.focus(target.index, target.field);
      return;
    }
    const [first, ...rest] = target.field;
    this.properties.focus(first === 'properties' && rest.length === 0 ? [] : target.field);
  }

  /** A transition that leads nowhere can't be seen, but taken away. */
  private fixFor({ target, key }: Problem): (() => void) | undefined {
    if (target.kind !== 'transition' || !/transition\.(source|target)$/.test(key)) return undefined;
    const transition = transitionKeyOf(target.element);
    if (transition === undefined || sceneOf(this.session.doc).edges.has(transition)) return undefined;
    return () =>
      this.session.execute(this.session.t('designer.step.delete'), remove(this.session.doc, [target.element]));
  }

  private openVariables(): void {
    this.dock.toggle(true);
    this.dock.open('variables');
    this.dock.element.scrollIntoView({ block: 'nearest' });
  }

  private async newVersion(button: HTMLButtonElement): Promise<void> {
    button.disabled = true;
    try {
      const made = await this.session.api.send('POST', `${this.path()}/versions`, {});
      if (isObject(made) && typeof made.id === 'string')
        window.location.assign(`/designer/${encodeURIComponent(made.id)}`);
    } catch (error) {
      button.disabled = false;
      this.failed('designer.new_version.failed', error);
    }
  }

  private async conflict(details: JsonObject): Promise<void> {
    try {
      await showConflict(this.session, details, {
        theirs: async () => toDefinition(await this.session.api.get(this.path())),
        keepAsCopy: () => this.keepAsCopy(),
        takeTheirs: (doc) => {
          this.session.history.load(doc);
          this.saver.reset(revisionOf(doc));
        },
        takeRevision: (doc) => this.saver.reset(revisionOf(doc)),
      });
    } catch (error) {
      this.failed('designer.conflict.failed', error);
    }
  }

  private async keepAsCopy(): Promise<boolean> {
    try {
      const made = await this.session.api.send('POST', '/definitions', this.session.doc);
      this.saver.reset(this.saver.currentRevision);
      if (isObject(made) && typeof made.id === 'string')
        window.location.assign(`/designer/${encodeURIComponent(made.id)}`);
      return true;
    } catch (error) {
      this.failed('designer.conflict.copy_failed', error);
      return false;
    }
  }

  private failed(key: string, error: unknown): void {
    const { t } = this.session;
    const sub =
      error instanceof OfflineError ? t('designer.offline') : error instanceof Error ? error.message : String(error);
    const requestId = error instanceof ApiError ? error.requestId : '';
    showToast({ state: 'faulted', title: t(key), sub, ...(requestId ? { requestId } : {}) });
  }

  private listen(): void {
    const { editor } = this.pane;
    listenForKeys(this.pane.element, {
      undo: () => this.session.history.undo(),
      redo: () => this.session.history.redo(),
      save: () => void this.saver.flush(),
      duplicate: () => this.actions.duplicate(),
      selectAll: () => this.actions.selectAll(),
      remove: () => this.actions.removeSelected(),
      nudge: (by) => this.actions.nudge(by),
      walk: (direction) => this.actions.walk(direction),
      addAfter: () => this.pane.pickAfter(),
      fit: () => editor.fit(),
      zoom: (steps) => editor.zoomBy(steps),
      nextProblem: () => {
        if (!this.dock.goToNext()) this.session.say(this.session.t('designer.problems.empty'));
      },
      escape: () => {
        if (editor.dragging) editor.cancelGesture();
        else editor.select([]);
      },
      open: () => this.properties.focus(),
      pan: (held) => editor.panning.hold(held && editor.hasFocus),
      singleKeys: keysEnabled,
    });
    this.listenToClipboard();
    window.addEventListener('beforeunload', (event) => {
      if (this.saver.dirty) event.preventDefault();
    });
    window.addEventListener('online', () => void this.saver.flush());
    window.addEventListener('pagehide', () => {
      if (this.saver.dirty) this.keepHere();
    });
    document.addEventListener('visibilitychange', () => {
      if (document.hidden && this.saver.dirty) void this.saver.flush();
    });
  }

  private listenToClipboard(): void {
    const inField = () => document.activeElement?.matches('input, textarea, select') === true;
    const take = (event: ClipboardEvent, cut: boolean) => {
      const clip = inField() || window.getSelection()?.toString() ? undefined : this.actions.copySelected();
      if (clip === undefined) return;
      event.preventDefault();
      event.clipboardData?.setData('text/plain', clip);
      const count = this.pane.editor.selected().filter((each) => nodeOf(this.session.doc, each)).length;
      this.session.say(this.session.t('designer.said.copied', { count }));
      if (cut && !this.session.readOnly) this.actions.removeSelected();
    };
    document.addEventListener('copy', (event) => take(event, false));
    document.addEventListener('cut', (event) => take(event, true));
    document.addEventListener('paste', (event) => {
      if (inField() || this.session.readOnly) return;
      const source = event.clipboardData?.getData('text/plain') ?? '';
      if (this.actions.pasteText(source, this.pane.pointerPlace)) event.preventDefault();
    });
  }
}
