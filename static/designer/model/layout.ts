/** Arranges a definition from left to right: dagre ranks the nodes, our router draws the lines over its lanes. */
import { layout as dagreLayout, Graph } from '@dagrejs/dagre';
import { type DefinitionDoc, keysOf, type TransitionDoc, text, transitionOf } from './definition';
import {
  bendsOf,
  centre,
  NODE_HEIGHT,
  NODE_WIDTH,
  nodeRect,
  overlaps,
  type Point,
  type Rect,
  route,
  simplify,
  snap,
} from './geometry';
import { textUnits } from './text';

export interface Arrangement {
  readonly rects: ReadonlyMap<string, Rect>;
  /** Bends by transition key; a transition that needs none is not in here. */
  readonly bends: ReadonlyMap<string, readonly Point[]>;
}

interface Link {
  readonly key: string;
  readonly source: string;
  readonly target: string;
}

/** Transitions whose two ends exist, with the keys of the nodes they join. */
export function linksOf(doc: DefinitionDoc): readonly Link[] {
  const nodeKeys = keysOf(doc.nodes);
  const byId = new Map<string, string>();
  doc.nodes.forEach((node, i) => {
    if (!byId.has(node.id)) byId.set(node.id, nodeKeys[i] as string);
  });
  const keys = keysOf(doc.transitions);
  return doc.transitions.flatMap((transition, i) => {
    const source = byId.get(transition.sourceNodeId);
    const target = byId.get(transition.targetNodeId);
    return source && target ? [{ key: keys[i] as string, source, target }] : [];
  });
}

const MARGIN = 40;

function ranked(doc: DefinitionDoc, links: readonly Link[], labelWidth: (key: string) => number) {
  const graph = new Graph({ multigraph: true });
  graph.setGraph({ rankdir: 'LR', ranksep: 64, nodesep: 40, edgesep: 24, marginx: MARGIN, marginy: MARGIN });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const key of keysOf(doc.nodes)) graph.setNode(key, { width: NODE_WIDTH, height: NODE_HEIGHT });
  for (const { key, source, target } of links) {
    const width = labelWidth(key);
    graph.setEdge(source, target, { width: Math.max(0, width - 20), height: width ? 22 : 0, labelpos: 'c' }, key);
  }
  dagreLayout(graph);
  return graph;
}

/** Turns dagre's lane (the points between the two ends) into level and upright stretches. */
function alongLane(source: Rect, target: Rect, lane: readonly Point[]): readonly Point[] {
  const forward = target.x >= source.x + source.width;
  const side = forward ? 0 : 16;
  const from = { x: forward ? source.x + source.width : source.x, y: centre(source).y + side };
  const to = { x: forward ? target.x : target.x + target.width, y: centre(target).y + side };
  const step = forward ? 24 : -24;
  const points: Point[] = [from, { x: from.x + step, y: from.y }];
  for (const point of lane) {
    const before = points.at(-1) as Point;
    points.push({ x: points.length === 2 ? before.x : (before.x + point.x) / 2, y: before.y });
    points.push({ x: (points.at(-1) as Point).x, y: snap(point.y) }, { x: point.x, y: snap(point.y) });
  }
  const last = points.at(-1) as Point;
  points.push({ x: to.x - step, y: last.y }, { x: to.x - step, y: to.y }, to);
  return simplify(points);
}

function crosses(points: readonly Point[], rects: readonly Rect[]): boolean {
  for (let i = 1; i < points.length; i += 1) {
    const a = points[i - 1] as Point;
    const b = points[i] as Point;
    const stretch = {
      x: Math.min(a.x, b.x),
      y: Math.min(a.y, b.y),
      width: Math.abs(a.x - b.x),
      height: Math.abs(a.y - b.y),
    };
    if (rects.some((rect) => overlaps(stretch, rect, 4))) return true;
  }
  return false;
}

/** About how wide a label will be, whatever the language: its name, the outcome, or the condition's beginning. */
function estimatedWidth(transition: TransitionDoc | undefined): number {
  if (!transition) return 0;
  const words = text(transition.name) || (transition.isDefault ? 'otherwise' : text(transition.condition));
  const quoted = /^\s*outcome\s*==\s*['"](.*)['"]\s*$/.exec(words)?.[1] ?? words;
  return quoted ? Math.min(textUnits(quoted), 24) * 6.6 + 30 : 0;
}

/** Upside down when more branches would then stand in the order in which the document lists them. */
function isUpsideDown(links: readonly Link[], y: (key: string) => number): boolean {
  const last = new Map<string, number>();
  let balance = 0;
  for (const { source, target } of links) {
    const at = y(target);
    const before = last.get(source);
    if (before !== undefined) balance += Math.sign(at - before);
    last.set(source, at);
  }
  return balance < 0;
}

/** Positions for all nodes, and bends for the transitions that would otherwise run through a node. */
export function arrange(
  doc: DefinitionDoc,
  labelWidth: (key: string) => number = (key) => estimatedWidth(transitionOf(doc, key)),
): Arrangement {
  const links = linksOf(doc);
  const graph = ranked(doc, links, labelWidth);
  const rects = new Map<string, Rect>();
  const middleOf = (key: string) => graph.node(key) as { x: number; y: number };
  const height = (graph.graph() as { height?: number }).height ?? 0;
  const mirrored = isUpsideDown(links, (key) => middleOf(key).y);
  const turned = (y: number) => (mirrored ? height - y : y);
  for (const key of keysOf(doc.nodes)) {
    const { x, y } = middleOf(key);
    rects.set(key, nodeRect(snap(x - NODE_WIDTH / 2), snap(turned(y) - NODE_HEIGHT / 2)));
  }
  const bends = new Map<string, readonly Point[]>();
  for (const { key, source, target } of links) {
    if (source === target) continue;
    const from = rects.get(source) as Rect;
    const to = rects.get(target) as Rect;
    const others = [...rects].flatMap(([node, rect]) => (node === source || node === target ? [] : [rect]));
    if (!crosses(route(from, to), others)) continue;
    const { points = [] } = graph.edge(source, target, key) as { points?: readonly Point[] };
    const lane = points.slice(1, -1).map((point) => ({ x: point.x, y: turned(point.y) }));
    bends.set(key, bendsOf(alongLane(from, to, lane)));
  }
  return { rects, bends };
}
