import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compare, sameContent } from '../../../static/designer/model/compare';
import { readDefinition } from '../../../static/designer/model/definition';
import * as edits from '../../../static/designer/model/edits';
import { applyAll } from '../../../static/designer/model/history';
import { along, freePlaceAfter, nearest, readingOrder } from '../../../static/designer/model/walk';
import { LEAVE, leave } from './documents';

test('walks along the flow, over transitions, and among the branches', () => {
  const doc = leave();
  assert.equal(along(doc, 'start', 'right'), '→t1');
  assert.equal(along(doc, '→t1', 'right'), 'approve');
  assert.equal(along(doc, 'approve', 'right'), '→t2');
  assert.equal(along(doc, '→t2', 'down'), '→t3');
  assert.equal(along(doc, '→t3', 'down'), '→t2');
  assert.equal(along(doc, '→t3', 'left'), 'approve');
  assert.equal(along(doc, 'yes', 'down'), 'no');
  assert.equal(along(doc, 'yes', 'right'), undefined);
  assert.equal(along(doc, 'gone', 'right'), 'start');
});

test('finds the nearest node in a direction', () => {
  assert.equal(nearest(leave(), 'start', 'right'), 'approve');
  assert.equal(nearest(leave(), 'approve', 'up'), 'yes');
  assert.equal(nearest(leave(), 'start', 'left'), undefined);
});

test('reads along the flow from Start, then what nothing reaches', () => {
  const doc = { ...leave(), nodes: [{ id: 'loose', activityType: 'Log' }, ...leave().nodes] };
  assert.deepEqual(readingOrder(doc), ['start', 'approve', 'yes', 'no', 'loose']);
});

test('a new node goes right of the one it follows, below what is there', () => {
  assert.deepEqual(freePlaceAfter(leave(), undefined), { x: 40, y: 140 });
  assert.deepEqual(freePlaceAfter(leave(), 'approve'), { x: 522, y: 200 });
  assert.deepEqual(freePlaceAfter(readDefinition('{}'), undefined), { x: 40, y: 40 });
});

test('two drafts differ in what they say, not in where it stands', () => {
  const theirs = leave();
  const moved = applyAll(leave(), edits.moveNodes(leave(), ['start'], { x: 50, y: 50 }))[0];
  assert.deepEqual(compare(moved, theirs), []);
  const mine = readDefinition(
    LEAVE.replace('"Granted"', '"Yes"')
      .replace('"Leave request"', '"Holiday"')
      .replace('"name": "days"', '"name": "length"'),
  );
  assert.deepEqual(compare(mine, theirs), [
    { kind: 'setting', name: 'displayName', how: 'both' },
    { kind: 'node', name: 'Yes', how: 'both' },
    { kind: 'variable', name: 'length', how: 'mine' },
    { kind: 'variable', name: 'days', how: 'theirs' },
  ]);
});

test('defaults that are written out are no difference, places are one only where nothing is to be lost', () => {
  const written = leave();
  const nodes = written.nodes.map((node) => ({ ...node, note: null, continueOnError: false, listeners: [] }));
  const server = { ...written, nodes } as unknown as typeof written;
  assert.deepEqual(compare(written, server), []);
  assert.ok(sameContent(written, server));
  const moved = applyAll(leave(), edits.moveNodes(leave(), ['start'], { x: 50, y: 0 }))[0];
  assert.ok(!sameContent(moved, server));
  assert.ok(!sameContent({ ...leave(), displayName: 'Other' }, server));
});
