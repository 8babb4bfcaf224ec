/** Walking the diagram by keys: along the flow, or to the nearest node in a direction. */
import { type DefinitionDoc, transitionElement, transitionKeyOf } from './definition';
import { centre, type Point } from './geometry';
import { sceneOf } from './scene';

export type Direction = 'left' | 'right' | 'up' | 'down';

/**
 * The next element along the flow: from a node to its transition and on to the node behind it; up and down among the
 * transitions of one node.
 */
export function along(doc: DefinitionDoc, element: string, direction: Direction): string | undefined {
  const { nodes, edges, outgoing, incoming } = sceneOf(doc);
  const key = transitionKeyOf(element);
  const edge = key === undefined ? undefined : edges.get(key);
  if (edge) {
    if (direction === 'right') return edge.target;
    if (direction === 'left') return edge.source;
    const siblings = (outgoing.get(edge.source) ?? []).map((each) => each.key);
    const index = siblings.indexOf(edge.key) + (direction === 'down' ? 1 : -1);
    return transitionElement(siblings[(index + siblings.length) % siblings.length] as string);
  }
  if (!nodes.has(element)) return nodes.keys().next().value;
  if (direction === 'up' || direction === 'down') return nearest(doc, element, direction);
  const next = (direction === 'right' ? outgoing : incoming).get(element)?.[0];
  return next ? transitionElement(next.key) : undefined;
}

function offset(direction: Direction, from: Point, to: Point): { readonly ahead: number; readonly aside: number } {
  const dx = to.x - from.x;
  const dy = to.y - from.y;
  if (direction === 'right') return { ahead: dx, aside: Math.abs(dy) };
  if (direction === 'left') return { ahead: -dx, aside: Math.abs(dy) };
  if (direction === 'down') return { ahead: dy, aside: Math.abs(dx) };
  return { ahead: -dy, aside: Math.abs(dx) };
}

/** The nearest node in a direction; what lies aside counts double. */
export function nearest(doc: DefinitionDoc, key: string, direction: Direction): string | undefined {
  const { nodes } = sceneOf(doc);
  const from = nodes.get(key);
  if (!from) return undefined;
  let best: { key: string; far: number } | undefined;
  for (const other of nodes.values()) {
    const { ahead, aside } = offset(direction, centre(from.rect), centre(other.rect));
    const far = ahead + 2 * aside;
    if (other.key !== key && ahead > 0 && (!best || far < best.far)) best = { key: other.key, far };
  }
  return best?.key;
}

/** Nodes in the order they are read in: along the flow from Start, then those that nothing reaches. */
export function readingOrder(doc: DefinitionDoc): readonly string[] {
  const { nodes, outgoing } = sceneOf(doc);
  const seen = new Set<string>();
  const visit = (start: string) => {
    const queue = [start];
    for (let key = queue.shift(); key !== undefined; key = queue.shift()) {
      if (seen.has(key)) continue;
      seen.add(key);
      for (const edge of outgoing.get(key) ?? []) queue.push(edge.target);
    }
  };
  for (const { key, node } of nodes.values()) if (node.activityType === 'Start') visit(key);
  for (const key of nodes.keys()) visit(key);
  return [...seen];
}

/** Where a new node goes: right of the one it follows, below whatever is there already. */
export function freePlaceAfter(doc: DefinitionDoc, key: string | undefined): Point {
  const { nodes } = sceneOf(doc);
  const from = key === undefined ? undefined : nodes.get(key);
  const taken = [...nodes.values()].map((each) => each.rect);
  const start = from ? { x: from.rect.x + from.rect.width + 90, y: from.rect.y } : { x: 40, y: 40 };
  for (let row = 0; ; row += 1) {
    const place = { x: start.x, y: start.y + row * 100 };
    const free = taken.every(
      (rect) => Math.abs(rect.x - place.x) >= rect.width + 10 || Math.abs(rect.y - place.y) >= rect.height + 10,
    );
    if (free) return place;
  }
}
