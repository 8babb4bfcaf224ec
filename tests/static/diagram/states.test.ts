import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lookOf, presentNode, readStates } from '../../../static/diagram/states';
import { readableScale } from '../../../static/diagram/viewport';

const STATES = readStates(
  '{"nodes": {"a": {"state": "completed", "count": 1, "label": ""}, "b": {"state": "waiting", "count": 2, "label": "1 of 2"}}, "transitions": ["t1"]}',
);

test('reads states and the way that was taken', () => {
  assert.deepEqual(STATES.nodes.get('b'), { state: 'waiting', count: 2, label: '1 of 2' });
  assert.ok(STATES.transitions.has('t1'));
  assert.deepEqual(readStates('').nodes.size, 0);
  assert.deepEqual(readStates('{"nodes": {"a": 1}}').nodes.size, 0);
});

test('a state is colour and mark; without one the step was not reached', () => {
  assert.deepEqual(lookOf(STATES.nodes.get('a'), 'Log'), {
    role: 'completed',
    mark: { kind: 'ok', icon: 'check' },
  });
  assert.deepEqual(lookOf(undefined, 'Log'), { role: 'idle', mark: undefined });
  assert.equal(lookOf(STATES.nodes.get('b'), 'UserTask').mark?.icon, 'clock');
  assert.equal(lookOf(STATES.nodes.get('b'), 'Join').mark?.icon, 'hourglass');
});

test('every state that the server names has a look of its own', () => {
  for (const state of ['running', 'waiting', 'retrying', 'completed', 'faulted', 'canceled', 'compensated']) {
    assert.notEqual(lookOf({ state, count: 1, label: '' }, 'Log').role, 'idle', state);
  }
});

test('the present step is the one that failed, else the one that waits', () => {
  assert.equal(presentNode(STATES), 'b');
  const failed = readStates('{"nodes": {"a": {"state": "waiting"}, "b": {"state": "faulted"}}}');
  assert.equal(presentNode(failed), 'b');
  assert.equal(presentNode(readStates('{"nodes": {"a": {"state": "completed"}}}')), undefined);
});

test('the picture is never larger than drawn and never too small to read', () => {
  const all = { x: 0, y: 0, width: 944, height: 344 };
  assert.equal(readableScale(all, { width: 2000, height: 1000 }), 1);
  assert.equal(readableScale(all, { width: 800, height: 400 }), 0.8);
  assert.equal(readableScale(all, { width: 200, height: 100 }), 0.48);
});
