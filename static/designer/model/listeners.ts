/** What a node tells when it begins or ends: its listeners, and every change of them as operations on the document. */
import { type DefinitionDoc, type NodeDoc, nodeOf, withMembers } from './definition';
import { type Members, setNode } from './edits';
import type { Op } from './history';
import { isList, isObject, type JsonObject } from './json';

/** The one kind that there is. */
export const NOTIFICATION = 'notification';
export const OCCASIONS = ['enter', 'leave'] as const;
/** The title of what a listener tells that names none. */
export const DEFAULT_TITLE = 'node-listener';
/** The variable that names whom listeners tell. */
export const RECIPIENTS = '__listenerRecipients';

export function listenersOf(node: NodeDoc | undefined): readonly JsonObject[] {
  return isList(node?.listeners) ? node.listeners.filter(isObject) : [];
}

function write(doc: DefinitionDoc, key: string, listeners: readonly JsonObject[]): Op[] {
  return setNode(doc, key, { listeners: listeners.length > 0 ? listeners : undefined });
}

export function addListener(doc: DefinitionDoc, key: string): Op[] {
  const made = { type: NOTIFICATION, on: OCCASIONS[0], expression: '' };
  return write(doc, key, [...listenersOf(nodeOf(doc, key)), made]);
}

/** Sets members of one listener; what this editor does not know of stays. */
export function setListener(doc: DefinitionDoc, key: string, index: number, members: Members): Op[] {
  const all = listenersOf(nodeOf(doc, key));
  if (!all[index]) return [];
  return write(
    doc,
    key,
    all.map((each, i) => (i === index ? withMembers(each, members) : each)),
  );
}

export function removeListener(doc: DefinitionDoc, key: string, index: number): Op[] {
  const all = listenersOf(nodeOf(doc, key));
  if (!all[index]) return [];
  return write(
    doc,
    key,
    all.filter((_, i) => i !== index),
  );
}

export function moveListener(doc: DefinitionDoc, key: string, from: number, to: number): Op[] {
  const all = [...listenersOf(nodeOf(doc, key))];
  if (!all[from] || !all[to] || from === to) return [];
  const [moved] = all.splice(from, 1);
  all.splice(to, 0, moved as JsonObject);
  return write(doc, key, all);
}
