/** Every change a person can make, as operations on the document. None of them changes anything by itself. */
import {
  type DefinitionDoc,
  freeId,
  indexOfKey,
  keysOf,
  type NodeDoc,
  nodeOf,
  type TransitionDoc,
  transitionKeyOf,
  transitionKeys,
  transitionOf,
  type VariableDoc,
  withMembers,
} from './definition';
import { bendsOf, followBends, type Point, type Rect, snap } from './geometry';
import { applyAll, type Op } from './history';
import { isObject, type JsonObject, type JsonValue, whole } from './json';
import type { Arrangement } from './layout';
import { readBends, sceneOf, writeBends } from './scene';

export type Members = Readonly<Record<string, JsonValue | undefined>>;

function replaceNode(doc: DefinitionDoc, key: string, members: Members): Op[] {
  const index = indexOfKey(doc.nodes, key);
  const node = doc.nodes[index];
  return node ? [{ op: 'replace', list: 'nodes', index, item: withMembers(node, members) }] : [];
}

function replaceTransition(doc: DefinitionDoc, key: string, members: Members): Op[] {
  const index = indexOfKey(doc.transitions, key);
  const transition = doc.transitions[index];
  return transition ? [{ op: 'replace', list: 'transitions', index, item: withMembers(transition, members) }] : [];
}

/** Stem of the ids of new nodes: the activity type with a small first letter, or `node` where that is no id. */
export function idStem(activityType: string): string {
  const stem = activityType.charAt(0).toLowerCase() + activityType.slice(1);
  return /^[A-Za-z0-9_][A-Za-z0-9_.:-]{0,100}$/.test(stem) ? stem : 'node';
}

export interface NewNode {
  readonly activityType: string;
  readonly name: string;
  readonly at: Point;
  readonly members?: Members;
}

export function newNode(doc: DefinitionDoc, wanted: NewNode): NodeDoc {
  const node = {
    id: freeId(doc.nodes, idStem(wanted.activityType)),
    name: wanted.name,
    activityType: wanted.activityType,
    properties: {},
    x: whole(snap(wanted.at.x)),
    y: whole(snap(wanted.at.y)),
  };
  return withMembers<NodeDoc>(node, wanted.members ?? {});
}

/** Writes down the places that the layout filled in, so that one move doesn't send the others elsewhere. */
export function keepPlaces(doc: DefinitionDoc): Op[] {
  const { filled } = sceneOf(doc);
  return filled ? place(doc, filled) : [];
}

export function addNode(doc: DefinitionDoc, node: NodeDoc): Op[] {
  return [...keepPlaces(doc), { op: 'insert', list: 'nodes', index: doc.nodes.length, item: node }];
}

export function newTransition(doc: DefinitionDoc, sourceNodeId: string, targetNodeId: string): TransitionDoc {
  return { id: freeId(doc.transitions, 't', true), sourceNodeId, targetNodeId };
}

export function addTransition(doc: DefinitionDoc, transition: TransitionDoc): Op[] {
  return [{ op: 'insert', list: 'transitions', index: doc.transitions.length, item: transition }];
}

export function connect(doc: DefinitionDoc, sourceKey: string, targetKey: string): Op[] {
  const source = nodeOf(doc, sourceKey);
  const target = nodeOf(doc, targetKey);
  return source && target ? addTransition(doc, newTransition(doc, source.id, target.id)) : [];
}

/** Puts a node (one that is there, or one that the same step adds) between the ends of a transition. */
export function insertInto(doc: DefinitionDoc, transitionKey: string, nodeId: string): Op[] {
  const transition = transitionOf(doc, transitionKey);
  if (!transition) return [];
  const second = newTransition(doc, nodeId, transition.targetNodeId);
  return [
    ...replaceTransition(doc, transitionKey, { targetNodeId: nodeId, waypoints: undefined }),
    ...addTransition(doc, second),
  ];
}

/** Free space between two nodes that follow each other. */
const GAP = 90;

/** Adds a node into a transition; what lies behind moves on when there is no room for it. */
export function addInto(
  doc: DefinitionDoc,
  transitionKey: string,
  wanted: NewNode,
): { ops: Op[]; id: string } | undefined {
  const { nodes, edges } = sceneOf(doc);
  const edge = edges.get(transitionKey);
  const source = edge && nodes.get(edge.source)?.rect;
  const target = edge && nodes.get(edge.target)?.rect;
  if (!source || !target) return undefined;
  const forward = target.x >= source.x + source.width;
  const at = forward ? { x: Math.max(wanted.at.x, source.x + source.width + GAP), y: wanted.at.y } : wanted.at;
  const missing = forward ? snap(at.x + source.width + GAP - target.x) : 0;
  const behind = [...nodes.values()].filter(({ rect }) => rect.x >= target.x).map(({ key }) => key);
  const room = missing > 0 ? moveNodes(doc, behind, { x: missing, y: 0 }) : [];
  const [moved] = applyAll(doc, room);
  const node = newNode(moved, { ...wanted, at });
  const ops = [...room, ...addNode(moved, node), ...insertInto(moved, transitionKey, node.id)];
  return { ops, id: node.id };
}

/** Moves nodes; bends of the transitions at them go along. */
export function moveNodes(doc: DefinitionDoc, keys: readonly string[], by: Point): Op[] {
  const { nodes, edges, filled } = sceneOf(doc);
  const moving = new Set(keys);
  const ops = filled ? place(doc, filled) : [];
  for (const key of keys) {
    const rect = nodes.get(key)?.rect;
    if (rect) ops.push(...replaceNode(doc, key, { x: whole(rect.x + by.x), y: whole(rect.y + by.y) }));
  }
  for (const edge of edges.values()) {
    const moved = { source: moving.has(edge.source), target: moving.has(edge.target) };
    const bends = filled?.bends.get(edge.key) ?? readBends(edge.transition);
    if (bends.length === 0 || (!moved.source && !moved.target)) continue;
    const source = nodes.get(edge.source)?.rect as Rect;
    const target = nodes.get(edge.target)?.rect as Rect;
    const next = followBends(bends, moved, { source, target }, by);
    ops.push(...replaceTransition(doc, edge.key, { waypoints: writeBends(next) }));
  }
  return ops;
}

/** Sets places and bends as the layout has them. */
export function place(doc: DefinitionDoc, arrangement: Arrangement): Op[] {
  const ops: Op[] = [];
  for (const [key, rect] of arrangement.rects)
    ops.push(...replaceNode(doc, key, { x: whole(rect.x), y: whole(rect.y) }));
  for (const key of keysOf(doc.transitions)) {
    const waypoints = writeBends(arrangement.bends.get(key) ?? []);
    if (waypoints !== undefined || transitionOf(doc, key)?.waypoints !== undefined) {
      ops.push(...replaceTransition(doc, key, { waypoints }));
    }
  }
  return ops;
}

/** Keeps the line that was drawn by hand: its corners become the transition's waypoints. */
export function setLine(doc: DefinitionDoc, key: string, points: readonly Point[]): Op[] {
  const bends = bendsOf(points).map((point) => ({ x: Math.round(point.x), y: Math.round(point.y) }));
  return [...keepPlaces(doc), ...replaceTransition(doc, key, { waypoints: writeBends(bends) })];
}

/** Takes elements of the canvas away: nodes with every transition at them, and transitions by themselves. */
export function remove(doc: DefinitionDoc, elements: readonly string[]): Op[] {
  const nodes = elements.filter((element) => nodeOf(doc, element));
  const transitions = new Set(elements.flatMap((element) => transitionKeyOf(element) ?? []));
  for (const edge of sceneOf(doc).edges.values()) {
    if (nodes.includes(edge.source) || nodes.includes(edge.target)) transitions.add(edge.key);
  }
  const down = (list: DefinitionDoc['nodes'] | DefinitionDoc['transitions'], wanted: Iterable<string>) =>
    [...wanted]
      .map((key) => indexOfKey(list, key))
      .filter((index) => index >= 0)
      .sort((a, b) => b - a);
  return [
    ...down(doc.transitions, transitions).map((index): Op => ({ op: 'remove', list: 'transitions', index })),
    ...down(doc.nodes, nodes).map((index): Op => ({ op: 'remove', list: 'nodes', index })),
  ];
}

export function setNode(doc: DefinitionDoc, key: string, members: Members): Op[] {
  return replaceNode(doc, key, members);
}

/** Sets one property of the node's activity; undefined takes it away. */
export function setProperty(doc: DefinitionDoc, key: string, name: string, value: JsonValue | undefined): Op[] {
  const node = nodeOf(doc, key);
  if (!node) return [];
  const properties = withMembers(isObject(node.properties) ? node.properties : {}, { [name]: value });
  return replaceNode(doc, key, { properties });
}

/** Gives a node another id; the transitions at it follow, and so do the nodes that it undoes. */
export function renameNode(doc: DefinitionDoc, key: string, id: string): Op[] {
  const node = nodeOf(doc, key);
  if (!node || node.id === id) return [];
  const ops = replaceNode(doc, key, { id });
  for (const other of key === node.id ? doc.nodes : []) {
    if (other !== node && other.compensateWith === node.id) {
      ops.push(...replaceNode(doc, other.id, { compensateWith: id }));
    }
  }
  // A second node with the same id has no transitions of its own: they belong to the first.
  if (key !== node.id) return ops;
  for (const edge of new Set([...transitionKeys(doc, node.id, 'source'), ...transitionKeys(doc, node.id, 'target')])) {
    const transition = transitionOf(doc, edge) as TransitionDoc;
    ops.push(
      ...replaceTransition(doc, edge, {
        sourceNodeId: transition.sourceNodeId === node.id ? id : transition.sourceNodeId,
        targetNodeId: transition.targetNodeId === node.id ? id : transition.targetNodeId,
      }),
    );
  }
  return ops;
}

/** Gives a node another activity; only the properties that the new one knows stay. */
export function swapActivity(doc: DefinitionDoc, key: string, activityType: string, known: readonly string[]): Op[] {
  const node = nodeOf(doc, key);
  if (!node || node.activityType === activityType) return [];
  const old: JsonObject = isObject(node.properties) ? node.properties : {};
  const properties = Object.fromEntries(Object.entries(old).filter(([name]) => known.includes(name)));
  return replaceNode(doc, key, { activityType, properties });
}

/** Sets members of a transition; at most one transition of a node stays the default. */
export function setTransition(doc: DefinitionDoc, key: string, members: Members): Op[] {
  const transition = transitionOf(doc, key);
  if (!transition) return [];
  const ops: Op[] = [];
  if (members.isDefault === true) {
    for (const other of transitionKeys(doc, transition.sourceNodeId, 'source')) {
      if (other !== key && transitionOf(doc, other)?.isDefault) {
        ops.push(...replaceTransition(doc, other, { isDefault: undefined }));
      }
    }
  }
  return [...ops, ...replaceTransition(doc, key, members)];
}

/** Lets a transition leave or reach another node. */
export function reconnect(doc: DefinitionDoc, key: string, end: 'source' | 'target', nodeKey: string): Op[] {
  const node = nodeOf(doc, nodeKey);
  if (!node) return [];
  const field = end === 'source' ? 'sourceNodeId' : 'targetNodeId';
  return replaceTransition(doc, key, { [field]: node.id, waypoints: undefined });
}

export function addVariable(doc: DefinitionDoc, variable: VariableDoc): Op[] {
  return [{ op: 'insert', list: 'variables', index: doc.variables.length, item: variable }];
}

export function newVariable(doc: DefinitionDoc): VariableDoc {
  const ids = doc.variables.map(({ name }) => ({ id: name }));
  return { name: freeId(ids, 'variable', true), type: 'string' };
}

export function setVariable(doc: DefinitionDoc, index: number, members: Members): Op[] {
  const variable = doc.variables[index];
  return variable ? [{ op: 'replace', list: 'variables', index, item: withMembers(variable, members) }] : [];
}

export function removeVariable(doc: DefinitionDoc, index: number): Op[] {
  return doc.variables[index] ? [{ op: 'remove', list: 'variables', index }] : [];
}

export function moveVariable(doc: DefinitionDoc, from: number, to: number): Op[] {
  return doc.variables[from] && doc.variables[to] && from !== to ? [{ op: 'move', list: 'variables', from, to }] : [];
}

/** Sets a member of the definition itself: its name, description, category. */
export function setSetting(field: string, value: JsonValue | undefined): Op[] {
  return [{ op: 'set', field, value }];
}
