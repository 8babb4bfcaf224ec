/** Two people on one draft: who saved what, side by side; nothing is written over unseen. */
import { compare, type Difference, sameContent } from '../model/compare';
import { type DefinitionDoc, text } from '../model/definition';
import type { JsonObject } from '../model/json';
import { html } from '../view/html';
import { icon } from '../view/icons';
import { Dialog } from './dialog';
import type { Session } from './session';

export interface ConflictHost {
  /** What the server has now. */
  theirs(): Promise<DefinitionDoc>;
  /** Makes a new draft of what stands here; answers false when that failed. */
  keepAsCopy(): Promise<boolean>;
  takeTheirs(doc: DefinitionDoc): void;
  /** Goes on from the server's revision, whose content is the one that stands here. */
  takeRevision(doc: DefinitionDoc): void;
}

function nameOf({ t }: Session, { kind, name }: Difference): string {
  return kind === 'setting' ? t(`designer.conflict.setting.${name}`) : name;
}

function column(
  session: Session,
  title: string,
  items: readonly Difference[],
  tag: 'ins' | 'del' | undefined,
): HTMLElement {
  const { t } = session;
  const rows = items.map((item) => {
    const words = `${t(`designer.conflict.${item.kind}`)}: ${nameOf(session, item)}`;
    return html('p', {}, tag ? html(tag, {}, words) : words);
  });
  return html(
    'div',
    {},
    html('h3', {}, title),
    ...(rows.length > 0 ? rows : [html('p', {}, t('designer.conflict.nothing'))]),
  );
}

function when(session: Session, details: JsonObject): string {
  const { t } = session;
  const at = Date.parse(text(details.updatedAt));
  const who = text(details.updatedBy) || t('designer.conflict.somebody');
  const lang = document.documentElement.lang || 'en';
  const time = Number.isNaN(at) ? '' : new Date(at).toLocaleString(lang, { dateStyle: 'medium', timeStyle: 'short' });
  return time ? t('designer.conflict.who', { who, at: time }) : t('designer.conflict.who_only', { who });
}

/** Shows both sides and what can be done. */
export async function showConflict(session: Session, details: JsonObject, host: ConflictHost): Promise<void> {
  const { t } = session;
  const theirs = await host.theirs();
  if (sameContent(session.doc, theirs)) {
    // An answer that got lost: what is here had been written after all.
    host.takeRevision(theirs);
    return;
  }
  const differences = compare(session.doc, theirs);
  const mine = differences.filter(({ how }) => how === 'mine');
  const added = differences.filter(({ how }) => how === 'theirs');
  const both = differences.filter(({ how }) => how === 'both');
  const dialog = new Dialog(t('designer.conflict.title'), true);
  const head = html(
    'div',
    { class: 'banner waiting' },
    icon('triangle-alert'),
    html('p', {}, html('b', {}, when(session, details)), html('span', { class: 'sub' }, t('designer.conflict.help'))),
  );
  const sides = html(
    'div',
    { class: 'diff' },
    column(session, t('designer.conflict.mine'), mine, 'ins'),
    column(session, t('designer.conflict.theirs'), added, 'ins'),
  );
  const changed =
    both.length > 0
      ? [html('div', { class: 'diff one' }, column(session, t('designer.conflict.both'), both, undefined))]
      : [];
  dialog.fill(
    [head, sides, ...changed],
    [
      { label: t('designer.conflict.later'), kind: 'ghost', act: () => true },
      {
        label: t('designer.conflict.take'),
        act: () => host.takeTheirs(theirs),
      },
      { label: t('designer.conflict.copy'), kind: 'primary', act: () => host.keepAsCopy() },
    ],
  );
  dialog.open();
}
