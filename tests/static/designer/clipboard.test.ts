import assert from 'node:assert/strict';
import { test } from 'node:test';
import { copy, paste, readClip } from '../../../static/designer/model/clipboard';
import { type DefinitionDoc, keysOf, readDefinition, transitionOf } from '../../../static/designer/model/definition';
import { applyAll } from '../../../static/designer/model/history';
import { writeJson } from '../../../static/designer/model/json';
import { sceneOf } from '../../../static/designer/model/scene';
import { leave, leaveWithoutPlaces } from './documents';

function pasted(into: DefinitionDoc, from: DefinitionDoc, keys: readonly string[], at = { x: 0, y: 400 }) {
  const clip = readClip(copy(from, keys) ?? '');
  assert.ok(clip);
  const { ops, nodeKeys } = paste(into, clip, at);
  return { doc: applyAll(into, ops)[0], nodeKeys };
}

test('copies nodes with the transitions between them, under free ids', () => {
  const { doc, nodeKeys } = pasted(leave(), leave(), ['approve', 'yes', 'no']);
  assert.deepEqual(nodeKeys, ['approve2', 'yes2', 'no2']);
  assert.deepEqual(keysOf(doc.transitions), ['t1', 't2', 't3', 't4', 't5']);
  assert.deepEqual(
    [transitionOf(doc, 't4')?.sourceNodeId, transitionOf(doc, 't4')?.targetNodeId, transitionOf(doc, 't4')?.condition],
    ['approve2', 'yes2', "outcome == 'approved'"],
  );
});

test('keeps the shape: the upper left corner lands on the point', () => {
  const { doc } = pasted(leave(), leave(), ['approve', 'yes']);
  const { nodes } = sceneOf(doc);
  assert.deepEqual([nodes.get('approve2')?.rect.x, nodes.get('approve2')?.rect.y], [0, 460]);
  assert.deepEqual([nodes.get('yes2')?.rect.x, nodes.get('yes2')?.rect.y], [260, 400]);
});

test('goes into another definition, also where nothing has a place yet', () => {
  const { doc } = pasted(leaveWithoutPlaces(), leave(), ['approve']);
  assert.equal(doc.nodes.length, 5);
  assert.equal(sceneOf(doc).filled, undefined);
  const empty = readDefinition('{"nodes":[],"transitions":[]}');
  assert.deepEqual(pasted(empty, leave(), ['start', 'approve']).nodeKeys, ['start', 'approve']);
});

test('leaves out a second Start and what led from it', () => {
  const { doc, nodeKeys } = pasted(leave(), leave(), ['start', 'approve']);
  assert.deepEqual(nodeKeys, ['approve2']);
  assert.equal(doc.transitions.length, 3);
  assert.deepEqual(paste(leave(), readClip(copy(leave(), ['start']) ?? '') as never, { x: 0, y: 0 }).ops, []);
});

test('keeps the digits of numbers in properties', () => {
  const source = readDefinition(
    '{"nodes":[{"id":"a","activityType":"SetVariable","properties":{"Values":{"v":1.50}}}],"transitions":[]}',
  );
  const { doc } = pasted(leave(), source, ['a']);
  assert.match(writeJson(doc), /"Values":\{"v":1\.50\}/);
});

test('other text on the clipboard is no clip', () => {
  for (const text of ['', 'hello', '{"a":1}', '[]', '{"format":"waypost/nodes","nodes":[{"id":1}],"transitions":[]}']) {
    assert.equal(readClip(text), undefined, text);
  }
  assert.equal(copy(leave(), ['→t1']), undefined);
});
