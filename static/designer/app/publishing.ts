/** Publishing asks first: what becomes valid for whom, and what stands in the way. */
import { text } from '../model/definition';
import { isList, isObject, toPixels } from '../model/json';
import { type Problem, readProblems } from '../model/problems';
import { freshId, html } from '../view/html';
import { icon } from '../view/icons';
import { ApiError, ifMatch } from './api';
import { Dialog } from './dialog';
import type { Session } from './session';

export interface PublishingHost {
  readonly definitionId: string;
  revision(): string;
  /** Writes what is pending; false when that was not possible. */
  flush(): Promise<boolean>;
  showProblems(problems: readonly Problem[]): void;
  published(): void;
  failed(error: unknown): void;
}

interface Running {
  readonly count: number;
  readonly version: number;
}

/** The running instances of the version that is valid now. */
async function running(session: Session): Promise<Running | undefined> {
  const name = text(session.doc.name);
  try {
    const answer = await session.api.get(
      `/definitions?name=${encodeURIComponent(name)}&status=Published&sort=-version&limit=1`,
    );
    const [latest] = isObject(answer) && isList(answer.items) ? answer.items.filter(isObject) : [];
    const count = latest && toPixels(latest.runningInstances);
    const version = latest && toPixels(latest.version);
    return count !== undefined && version !== undefined ? { count, version } : undefined;
  } catch {
    return undefined;
  }
}

export class Publishing {
  private note = '';

  constructor(
    private readonly session: Session,
    private readonly host: PublishingHost,
  ) {}

  async ask(): Promise<void> {
    const { session, host } = this;
    const { t } = session;
    const name = text(session.doc.displayName) || text(session.doc.name);
    const dialog = new Dialog(
      t('designer.publish.title', { name, version: toPixels(session.doc.version) ?? '' }),
      true,
    );
    dialog.fill(
      [html('p', { role: 'status' }, t('designer.publish.checking'))],
      [{ label: t('designer.keep_editing'), act: () => true }],
    );
    dialog.open();
    if (!(await host.flush())) {
      dialog.fill(
        [this.banner('faulted', 'octagon-alert', t('designer.publish.unsaved'), t('designer.publish.unsaved.help'))],
        [{ label: t('designer.keep_editing'), act: () => true }],
      );
      return;
    }
    try {
      const path = `/definitions/${encodeURIComponent(host.definitionId)}/validate`;
      const [found, now] = await Promise.all([session.api.send('POST', path, session.doc), running(session)]);
      const problems = readProblems(session.doc, found);
      host.showProblems(problems);
      if (problems.some(({ severity }) => severity === 'error')) this.refuse(dialog, problems);
      else this.confirm(dialog, problems, now);
    } catch (error) {
      dialog.close();
      host.failed(error);
    }
  }

  private banner(state: string, sign: string, words: string, sub = ''): HTMLElement {
    return html(
      'div',
      { class: `banner ${state}` },
      icon(sign),
      html('p', {}, html('b', {}, words), !!sub && html('span', { class: 'sub' }, sub)),
    );
  }

  /** All problems at once, never only the first. */
  private refuse(dialog: Dialog, problems: readonly Problem[]): void {
    const { t } = this.session;
    const errors = problems.filter(({ severity }) => severity === 'error');
    dialog.fill(
      [
        this.banner('faulted', 'octagon-alert', t('designer.publish.refused', { count: errors.length })),
        html('ul', { class: 'publish-problems' }, ...errors.map(({ message }) => html('li', {}, message))),
      ],
      [{ label: t('designer.publish.show_problems'), kind: 'primary', act: () => true }],
    );
  }

  private confirm(dialog: Dialog, problems: readonly Problem[], now: Running | undefined): void {
    const { t } = this.session;
    const id = freshId('note');
    const note = html('textarea', {
      class: 'area',
      id,
      rows: 2,
      maxlength: 10000,
      input: () => (this.note = note.value),
    });
    note.value = this.note;
    const stay =
      now && now.count > 0
        ? t('designer.publish.running', { count: now.count, version: now.version })
        : t('designer.publish.nothing_running');
    const content: HTMLElement[] = [html('p', {}, stay)];
    if (problems.length > 0) {
      content.push(
        this.banner('waiting', 'triangle-alert', t('designer.publish.warnings', { count: problems.length })),
      );
    }
    content.push(html('div', { class: 'field' }, html('label', { for: id }, t('designer.publish.note')), note));
    dialog.fill(content, [
      { label: t('designer.keep_editing'), act: () => true },
      { label: t('designer.publish.confirm'), kind: 'primary', act: (button) => this.publish(dialog, button) },
    ]);
    note.focus();
  }

  private async publish(dialog: Dialog, button: HTMLButtonElement): Promise<boolean> {
    const { session, host } = this;
    button.disabled = true;
    try {
      const path = `/definitions/${encodeURIComponent(host.definitionId)}/publish`;
      const body = this.note.trim() ? { note: this.note.trim() } : {};
      await session.api.send('POST', path, body, ifMatch(host.revision()));
      host.published();
      return true;
    } catch (error) {
      if (error instanceof ApiError && error.status === 400) {
        const problems = readProblems(session.doc, error.problem);
        if (problems.length > 0) {
          host.showProblems(problems);
          this.refuse(dialog, problems);
          return false;
        }
      }
      host.failed(error);
      return true;
    }
  }
}
