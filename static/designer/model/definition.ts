/** The definition document as the designer edits it: never changed in place, every edit makes a new one. */
import { isList, isObject, type JsonObject, type JsonValue, parseJson } from './json';

export interface NodeDoc extends JsonObject {
  readonly id: string;
  readonly name?: string;
  readonly activityType: string;
  readonly properties?: JsonObject;
}

export interface TransitionDoc extends JsonObject {
  readonly id: string;
  readonly name?: string;
  readonly sourceNodeId: string;
  readonly targetNodeId: string;
  readonly condition?: string;
  readonly isDefault?: boolean;
}

export interface VariableDoc extends JsonObject {
  readonly name: string;
  readonly title?: string;
  readonly type?: string;
  readonly required?: boolean;
}

export interface DefinitionDoc extends JsonObject {
  readonly nodes: readonly NodeDoc[];
  readonly transitions: readonly TransitionDoc[];
  readonly variables: readonly VariableDoc[];
}

export type ListName = 'nodes' | 'transitions' | 'variables';

function items<T extends JsonObject>(value: JsonValue | undefined): readonly T[] {
  return isList(value) ? (value.filter(isObject) as unknown as readonly T[]) : [];
}

/** Makes a document of parsed JSON; the three lists are there afterwards even when the source left them out. */
export function toDefinition(value: JsonValue): DefinitionDoc {
  if (!isObject(value)) throw new SyntaxError('A definition is a JSON object');
  return {
    ...value,
    nodes: items<NodeDoc>(value.nodes),
    transitions: items<TransitionDoc>(value.transitions),
    variables: items<VariableDoc>(value.variables),
  };
}

export function readDefinition(text: string): DefinitionDoc {
  return toDefinition(parseJson(text));
}

/** Text of a member, or nothing when it is absent, null or no text. */
export function text(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : '';
}

const keyCache = new WeakMap<readonly JsonObject[], readonly string[]>();

/**
 * One key for each item: its id, and for a draft with the same id twice `id~2`, so that both stay visible.
 * A tilde is no legal character of an id, so keys never collide.
 */
export function keysOf(list: readonly { readonly id: string }[]): readonly string[] {
  const known = keyCache.get(list as unknown as readonly JsonObject[]);
  if (known) return known;
  const seen = new Map<string, number>();
  const keys = list.map(({ id }) => {
    const count = (seen.get(id) ?? 0) + 1;
    seen.set(id, count);
    return count === 1 ? id : `${id}~${count}`;
  });
  keyCache.set(list as unknown as readonly JsonObject[], keys);
  return keys;
}

export function indexOfKey(list: readonly { readonly id: string }[], key: string): number {
  return keysOf(list).indexOf(key);
}

export function nodeOf(doc: DefinitionDoc, key: string): NodeDoc | undefined {
  return doc.nodes[indexOfKey(doc.nodes, key)];
}

export function transitionOf(doc: DefinitionDoc, key: string): TransitionDoc | undefined {
  return doc.transitions[indexOfKey(doc.transitions, key)];
}

/** What people call the node: its name, else its id. */
export function nodeName(node: NodeDoc): string {
  return text(node.name).trim() || node.id;
}

/** Keys of the transitions that leave (or reach) the node with this id. */
export function transitionKeys(doc: DefinitionDoc, nodeId: string, end: 'source' | 'target'): readonly string[] {
  const field = end === 'source' ? 'sourceNodeId' : 'targetNodeId';
  const keys = keysOf(doc.transitions);
  return doc.transitions.flatMap((transition, i) => (transition[field] === nodeId ? [keys[i] as string] : []));
}

/**
 * Nodes and transitions share one space of names on the canvas; an arrow, which no id may hold, sets transitions apart.
 */
export function transitionElement(key: string): string {
  return `→${key}`;
}

/** The transition's key when the element is one. */
export function transitionKeyOf(element: string): string | undefined {
  return element.startsWith('→') ? element.slice(1) : undefined;
}

/** The first id made of a stem and a number that nothing in the list uses. */
export function freeId(list: readonly { readonly id: string }[], stem: string, numbered = false): string {
  const taken = new Set(list.map(({ id }) => id));
  if (!numbered && !taken.has(stem)) return stem;
  let number = numbered ? 1 : 2;
  while (taken.has(`${stem}${number}`)) number += 1;
  return `${stem}${number}`;
}

/** Copy of an object with some members set; undefined takes the member away. */
export function withMembers<T extends JsonObject>(
  item: T,
  members: Readonly<Record<string, JsonValue | undefined>>,
): T {
  const copy: Record<string, JsonValue | undefined> = { ...item };
  for (const [name, value] of Object.entries(members)) {
    if (value === undefined) delete copy[name];
    else copy[name] = value;
  }
  return copy as T;
}
