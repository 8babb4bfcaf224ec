/** Nodes and the transitions between them as JSON text, to be pasted here, in another tab or another definition. */
import { type DefinitionDoc, freeId, type NodeDoc, nodeOf, type TransitionDoc, withMembers } from './definition';
import { addTransition, keepPlaces } from './edits';
import { bounds, type Point, type Rect, snap } from './geometry';
import type { Op } from './history';
import { isList, isObject, parseJson, toPixels, whole, writeJson } from './json';
import { mayAdd } from './rules';
import { readBends, sceneOf, writeBends } from './scene';

const FORMAT = 'waypost/nodes';

export interface Clip {
  readonly nodes: readonly NodeDoc[];
  readonly transitions: readonly TransitionDoc[];
}

/** Copies the nodes with these keys, and the transitions whose two ends are among them. */
export function copy(doc: DefinitionDoc, keys: readonly string[]): string | undefined {
  const { nodes, edges } = sceneOf(doc);
  const copied = keys.flatMap((key) => {
    const node = nodeOf(doc, key);
    const rect = nodes.get(key)?.rect;
    return node && rect ? [withMembers(node, { x: whole(rect.x), y: whole(rect.y) })] : [];
  });
  if (copied.length === 0) return undefined;
  const transitions = [...edges.values()]
    .filter((edge) => keys.includes(edge.source) && keys.includes(edge.target))
    .map((edge) => edge.transition);
  return writeJson({ format: FORMAT, nodes: copied, transitions });
}

/** Reads what was copied; undefined for any other text. */
export function readClip(text: string): Clip | undefined {
  try {
    const value = parseJson(text);
    if (!isObject(value) || value.format !== FORMAT || !isList(value.nodes) || !isList(value.transitions))
      return undefined;
    const nodes = value.nodes.filter(isObject) as unknown as readonly NodeDoc[];
    const transitions = value.transitions.filter(isObject) as unknown as readonly TransitionDoc[];
    const whole = nodes.every((node) => typeof node.id === 'string' && typeof node.activityType === 'string');
    return whole && nodes.length > 0 ? { nodes, transitions } : undefined;
  } catch {
    return undefined;
  }
}

function clipBounds(clip: Clip): Rect {
  const rects = clip.nodes.map((node) => ({ x: toPixels(node.x) ?? 0, y: toPixels(node.y) ?? 0, width: 0, height: 0 }));
  return bounds(rects) as Rect;
}

export interface Pasted {
  readonly ops: readonly Op[];
  readonly nodeKeys: readonly string[];
}

/** Puts copied nodes into the document under free ids, their upper left corner at the point. */
export function paste(doc: DefinitionDoc, clip: Clip, at: Point): Pasted {
  const origin = clipBounds(clip);
  const by = { x: snap(at.x - origin.x), y: snap(at.y - origin.y) };
  const ids = new Map<string, string>();
  const nodes: NodeDoc[] = [...doc.nodes];
  const ops: Op[] = keepPlaces(doc);
  for (const node of clip.nodes) {
    if (!mayAdd({ ...doc, nodes }, node.activityType)) continue;
    const id = freeId(nodes, node.id.replace(/\d+$/, '') || 'node');
    if (!ids.has(node.id)) ids.set(node.id, id);
    const copy = withMembers(node, {
      id,
      x: whole((toPixels(node.x) ?? 0) + by.x),
      y: whole((toPixels(node.y) ?? 0) + by.y),
    });
    ops.push({ op: 'insert', list: 'nodes', index: nodes.length, item: copy });
    nodes.push(copy);
  }
  let transitions = doc.transitions;
  for (const transition of clip.transitions) {
    const sourceNodeId = ids.get(transition.sourceNodeId);
    const targetNodeId = ids.get(transition.targetNodeId);
    if (!sourceNodeId || !targetNodeId) continue;
    const bends = readBends(transition).map((bend) => ({ x: bend.x + by.x, y: bend.y + by.y }));
    const id = freeId(transitions, 't', true);
    const copy = withMembers(transition, { id, sourceNodeId, targetNodeId, waypoints: writeBends(bends) });
    ops.push(...addTransition({ ...doc, transitions }, copy));
    transitions = [...transitions, copy];
  }
  return {
    ops: nodes.length > doc.nodes.length ? ops : [],
    nodeKeys: nodes.slice(doc.nodes.length).map(({ id }) => id),
  };
}
