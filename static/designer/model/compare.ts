/** What differs between two documents, by the names people know: for the view of two conflicting drafts. */
import { type DefinitionDoc, keysOf, nodeName } from './definition';
import { isList, isLosslessNumber, isObject, type JsonObject, type JsonValue, sameJson } from './json';

export interface Difference {
  readonly kind: 'node' | 'transition' | 'variable' | 'setting';
  readonly name: string;
  /** As seen from `mine`: only there, only in `theirs`, or different in both. */
  readonly how: 'mine' | 'theirs' | 'both';
}

const SETTINGS = ['displayName', 'description', 'category', 'timeout', 'timeoutAction', 'startForm'];
const PLACES = new Set(['x', 'y', 'waypoints']);

function isEmpty(value: JsonValue | undefined): boolean {
  if (value === undefined || value === null || value === false || value === '') return true;
  if (isLosslessNumber(value)) return value.value === '0';
  return isList(value) ? value.length === 0 : isObject(value) && Object.keys(value).length === 0;
}

/** Without what only says the default: the server writes it out, a new node leaves it out. */
function essence(item: JsonObject, places: boolean): JsonObject {
  const kept = Object.entries(item).filter(([name, value]) => !isEmpty(value) && (places || !PLACES.has(name)));
  return Object.fromEntries(kept);
}

function sameItem(a: JsonObject, b: JsonObject, places: boolean): boolean {
  return sameJson(essence(a, places), essence(b, places));
}

function byKey(keys: readonly string[], items: readonly JsonObject[]): ReadonlyMap<string, JsonObject> {
  return new Map(keys.map((key, i) => [key, items[i] as JsonObject]));
}

function lists(
  kind: Difference['kind'],
  mine: ReadonlyMap<string, JsonObject>,
  theirs: ReadonlyMap<string, JsonObject>,
  name: (item: JsonObject, key: string) => string,
): readonly Difference[] {
  const out: Difference[] = [];
  for (const [key, item] of mine) {
    const other = theirs.get(key);
    if (!other) out.push({ kind, name: name(item, key), how: 'mine' });
    else if (!sameItem(item, other, false)) out.push({ kind, name: name(item, key), how: 'both' });
  }
  for (const [key, item] of theirs) if (!mine.has(key)) out.push({ kind, name: name(item, key), how: 'theirs' });
  return out;
}

/** Differences in content; places on the canvas don't count. */
export function compare(mine: DefinitionDoc, theirs: DefinitionDoc): readonly Difference[] {
  const transitionName = (item: JsonObject): string =>
    `${item.sourceNodeId as string} → ${item.targetNodeId as string}`;
  const names = (doc: DefinitionDoc) => doc.variables.map(({ name }) => name);
  const value = (doc: DefinitionDoc, field: string): JsonValue | undefined => doc[field] ?? undefined;
  return [
    ...SETTINGS.filter((field) => !sameJson(value(mine, field), value(theirs, field))).map(
      (field): Difference => ({ kind: 'setting', name: field, how: 'both' }),
    ),
    ...lists('node', byKey(keysOf(mine.nodes), mine.nodes), byKey(keysOf(theirs.nodes), theirs.nodes), (item) =>
      nodeName(item as unknown as DefinitionDoc['nodes'][number]),
    ),
    ...lists(
      'transition',
      byKey(keysOf(mine.transitions), mine.transitions),
      byKey(keysOf(theirs.transitions), theirs.transitions),
      transitionName,
    ),
    ...lists(
      'variable',
      byKey(names(mine), mine.variables),
      byKey(names(theirs), theirs.variables),
      (_item, key) => key,
    ),
  ];
}

/** True when both say the same, places on the canvas included: there is nothing to decide between. */
export function sameContent(a: DefinitionDoc, b: DefinitionDoc): boolean {
  const same = (left: readonly JsonObject[], right: readonly JsonObject[]) =>
    left.length === right.length && left.every((item, i) => sameItem(item, right[i] as JsonObject, true));
  return (
    compare(a, b).length === 0 &&
    same(a.nodes, b.nodes) &&
    same(a.transitions, b.transitions) &&
    same(a.variables, b.variables)
  );
}
