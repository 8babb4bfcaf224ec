/** What is to be drawn for a document: a rectangle for each node, a line for each transition. */
import { type DefinitionDoc, keysOf, type NodeDoc, type TransitionDoc, transitionOf } from './definition';
import { NODE_HEIGHT, NODE_WIDTH, nodeRect, type Point, type Rect, route, routeVia } from './geometry';
import { isList, type JsonValue, toPixels, whole } from './json';
import { type Arrangement, arrange, linksOf } from './layout';

export interface SceneNode {
  readonly key: string;
  readonly node: NodeDoc;
  readonly rect: Rect;
}

export interface SceneEdge {
  readonly key: string;
  readonly transition: TransitionDoc;
  readonly source: string;
  readonly target: string;
  readonly points: readonly Point[];
}

export interface Scene {
  readonly nodes: ReadonlyMap<string, SceneNode>;
  readonly edges: ReadonlyMap<string, SceneEdge>;
  /** Transitions that leave a node, by its key. */
  readonly outgoing: ReadonlyMap<string, readonly SceneEdge[]>;
  readonly incoming: ReadonlyMap<string, readonly SceneEdge[]>;
  /** Set when the document says nothing (or not everything) about places and the layout filled in. */
  readonly filled: Arrangement | undefined;
}

function placeOf(node: NodeDoc): Rect | undefined {
  const x = toPixels(node.x);
  const y = toPixels(node.y);
  return x === undefined || y === undefined ? undefined : nodeRect(x, y);
}

/** Bends as the document keeps them: `waypoints` are the corners between the two ends. */
export function readBends(transition: TransitionDoc): readonly Point[] {
  if (!isList(transition.waypoints)) return [];
  return transition.waypoints.flatMap((pair) => {
    const x = isList(pair) ? toPixels(pair[0]) : undefined;
    const y = isList(pair) ? toPixels(pair[1]) : undefined;
    return x === undefined || y === undefined ? [] : [{ x, y }];
  });
}

export function writeBends(bends: readonly Point[]): JsonValue | undefined {
  return bends.length === 0 ? undefined : bends.map(({ x, y }) => [whole(x), whole(y)]);
}

/** Nodes without a place stand in a row below those that have one. */
function fillIn(doc: DefinitionDoc, places: ReadonlyMap<string, Rect>): Map<string, Rect> {
  const bottom = Math.max(...[...places.values()].map((rect) => rect.y + rect.height));
  const left = Math.min(...[...places.values()].map((rect) => rect.x));
  const out = new Map(places);
  let column = 0;
  for (const key of keysOf(doc.nodes)) {
    if (out.has(key)) continue;
    out.set(key, nodeRect(left + column * (NODE_WIDTH + 40), bottom + NODE_HEIGHT));
    column += 1;
  }
  return out;
}

/** What an arrangement depends on: a changed property must not run the layout again. */
function structureOf(doc: DefinitionDoc): string {
  const links = doc.transitions.map((each) => [
    each.id,
    each.sourceNodeId,
    each.targetNodeId,
    each.name,
    each.condition,
  ]);
  return JSON.stringify([keysOf(doc.nodes), links]);
}

let lastArranged: { readonly structure: string; readonly arrangement: Arrangement } | undefined;

function arrangeOnce(doc: DefinitionDoc): Arrangement {
  const structure = structureOf(doc);
  if (lastArranged?.structure !== structure) lastArranged = { structure, arrangement: arrange(doc) };
  return lastArranged.arrangement;
}

function places(doc: DefinitionDoc): { rects: ReadonlyMap<string, Rect>; filled: Arrangement | undefined } {
  const keys = keysOf(doc.nodes);
  const rects = new Map<string, Rect>();
  doc.nodes.forEach((node, i) => {
    const rect = placeOf(node);
    if (rect) rects.set(keys[i] as string, rect);
  });
  if (rects.size === doc.nodes.length) return { rects, filled: undefined };
  const filled = rects.size === 0 ? arrangeOnce(doc) : { rects: fillIn(doc, rects), bends: new Map() };
  return { rects: filled.rects, filled };
}

function byEnd(edges: ReadonlyMap<string, SceneEdge>, end: 'source' | 'target'): Map<string, SceneEdge[]> {
  const out = new Map<string, SceneEdge[]>();
  for (const edge of edges.values()) {
    const list = out.get(edge[end]);
    if (list) list.push(edge);
    else out.set(edge[end], [edge]);
  }
  return out;
}

/** A line from a node to the one that undoes it. */
export interface CompensationLine {
  readonly source: string;
  readonly target: string;
  readonly points: readonly Point[];
}

/** Lines to the nodes that compensate others; one that names no node of the document has none. */
export function compensationsOf({ nodes }: Scene): readonly CompensationLine[] {
  return [...nodes.values()].flatMap(({ key, node, rect }) => {
    const target = typeof node.compensateWith === 'string' ? nodes.get(node.compensateWith) : undefined;
    return target && target.key !== key ? [{ source: key, target: target.key, points: route(rect, target.rect) }] : [];
  });
}

const scenes = new WeakMap<DefinitionDoc, Scene>();

/** The scene of a document; the same document always has the same scene. */
export function sceneOf(doc: DefinitionDoc): Scene {
  const known = scenes.get(doc);
  if (known) return known;
  const { rects, filled } = places(doc);
  const keys = keysOf(doc.nodes);
  const nodes = new Map<string, SceneNode>();
  doc.nodes.forEach((node, i) => {
    const key = keys[i] as string;
    nodes.set(key, { key, node, rect: rects.get(key) as Rect });
  });
  const lanes = new Map<string, number>();
  const edges = new Map<string, SceneEdge>();
  const links = linksOf(doc);
  const pairs = new Set(links.map(({ source, target }) => `${source} ${target}`));
  for (const { key, source, target } of links) {
    const transition = transitionOf(doc, key) as TransitionDoc;
    const pair = `${source} ${target}`;
    const lane = lanes.get(pair) ?? 0;
    lanes.set(pair, lane + 1);
    const from = rects.get(source) as Rect;
    const to = rects.get(target) as Rect;
    const written = readBends(transition);
    const bends = written.length > 0 ? written : (filled?.bends.get(key) ?? []);
    const points =
      bends.length > 0 ? routeVia(from, to, bends, lane) : route(from, to, lane, pairs.has(`${target} ${source}`));
    edges.set(key, { key, transition, source, target, points });
  }
  const scene = { nodes, edges, outgoing: byEnd(edges, 'source'), incoming: byEnd(edges, 'target'), filled };
  scenes.set(doc, scene);
  return scene;
}
