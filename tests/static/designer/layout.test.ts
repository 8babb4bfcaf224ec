import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type DefinitionDoc, readDefinition } from '../../../static/designer/model/definition';
import { place } from '../../../static/designer/model/edits';
import {
  isOrthogonal,
  overlaps,
  type Point,
  type Rect,
  routeVia,
  route as straight,
} from '../../../static/designer/model/geometry';
import { applyAll } from '../../../static/designer/model/history';
import { writeJson } from '../../../static/designer/model/json';
import { arrange } from '../../../static/designer/model/layout';
import { sceneOf } from '../../../static/designer/model/scene';
import { leave, leaveWithoutPlaces, random } from './documents';

function linesThroughNodes(doc: DefinitionDoc): readonly string[] {
  const { nodes, edges } = sceneOf(doc);
  return [...edges.values()].flatMap((edge) => {
    const others = [...nodes.values()].filter(({ key }) => key !== edge.source && key !== edge.target);
    return others.filter(({ rect }) => hits(edge.points, rect)).map(({ key }) => `${edge.key} through ${key}`);
  });
}

function hits(points: readonly Point[], rect: Rect): boolean {
  return points.some((a, i) => {
    const b = points[i + 1];
    if (!b) return false;
    const stretch = {
      x: Math.min(a.x, b.x),
      y: Math.min(a.y, b.y),
      width: Math.abs(a.x - b.x),
      height: Math.abs(a.y - b.y),
    };
    return overlaps(stretch, rect);
  });
}

/** A flow with as many nodes; each leads to one of the next few, and some lead back or far ahead. */
function flow(size: number, seed: number): DefinitionDoc {
  const roll = random(seed);
  const nodes = Array.from({ length: size }, (_, i) => ({ id: `n${i}`, activityType: 'Log' }));
  const transitions = [];
  for (let i = 1; i < size; i += 1) {
    const from = Math.max(0, i - 1 - Math.floor(roll() * 3));
    transitions.push({ id: `t${i}`, sourceNodeId: `n${from}`, targetNodeId: `n${i}` });
    if (roll() < 0.15)
      transitions.push({ id: `b${i}`, sourceNodeId: `n${i}`, targetNodeId: `n${Math.floor(roll() * i)}` });
    if (roll() < 0.1)
      transitions.push({ id: `f${i}`, sourceNodeId: `n${Math.floor(roll() * i)}`, targetNodeId: `n${i}` });
  }
  return readDefinition(writeJson({ nodes, transitions }));
}

test('goes from left to right, and the two branches lie on either side', () => {
  const { rects } = arrange(leaveWithoutPlaces());
  const at = (key: string) => rects.get(key) as Rect;
  assert.ok(at('start').x < at('approve').x && at('approve').x < at('yes').x);
  assert.equal(at('yes').x, at('no').x);
  assert.equal((at('yes').y + at('no').y) / 2, at('approve').y);
});

test('branches stand in the order in which they are listed', () => {
  const doc = leaveWithoutPlaces();
  const turned = { ...doc, transitions: [...doc.transitions].reverse() };
  const y = (of: DefinitionDoc, key: string) => (arrange(of).rects.get(key) as Rect).y;
  assert.ok(y(doc, 'yes') < y(doc, 'no'));
  assert.ok(y(turned, 'no') < y(turned, 'yes'));
});

test('leaves room for the labels on the lines', () => {
  const gap = (width: number) => {
    const { rects } = arrange(leaveWithoutPlaces(), () => width);
    return (rects.get('approve') as Rect).x - (rects.get('start') as Rect).x - 172;
  };
  assert.ok(gap(120) >= 120 + 24);
  assert.ok(gap(0) < gap(120));
});

test('no two nodes overlap and no line runs through a node', () => {
  for (let seed = 1; seed <= 25; seed += 1) {
    const doc = flow(30, seed);
    const arranged = applyAll(doc, place(doc, arrange(doc)))[0];
    const rects = [...sceneOf(arranged).nodes.values()];
    for (const a of rects) {
      for (const b of rects)
        assert.ok(a.key === b.key || !overlaps(a.rect, b.rect, 8), `seed ${seed}: ${a.key} on ${b.key}`);
    }
    assert.deepEqual(linesThroughNodes(arranged), [], `seed ${seed}`);
    for (const edge of sceneOf(arranged).edges.values()) assert.ok(isOrthogonal(edge.points), edge.key);
  }
});

test('does the same twice', () => {
  const doc = flow(20, 3);
  const once = applyAll(doc, place(doc, arrange(doc)))[0];
  const twice = applyAll(once, place(once, arrange(once)))[0];
  assert.equal(writeJson(twice), writeJson(once));
});

test('a document without places is shown as the layout has it', () => {
  const doc = leaveWithoutPlaces();
  const { rects } = arrange(doc);
  for (const [key, rect] of rects) assert.deepEqual(sceneOf(doc).nodes.get(key)?.rect, rect);
  assert.equal(sceneOf(leave()).filled, undefined);
});

test('an empty definition and one with a node joined to itself are arranged as well', () => {
  assert.equal(arrange(readDefinition('{}')).rects.size, 0);
  const loop = readDefinition(
    '{"nodes":[{"id":"a","activityType":"Log"}],"transitions":[{"id":"t","sourceNodeId":"a","targetNodeId":"a"}]}',
  );
  assert.equal(arrange(loop).rects.size, 1);
  assert.ok(isOrthogonal(straight(arrange(loop).rects.get('a') as Rect, arrange(loop).rects.get('a') as Rect)));
  assert.ok(routeVia);
});
