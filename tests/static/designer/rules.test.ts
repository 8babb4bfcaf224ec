import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mayAdd, mayConnect, mayDropOn, mayInsert, mayLeave } from '../../../static/designer/model/rules';
import { leave } from './documents';

const MODES = new Map([
  ['Start', 'Matched'],
  ['UserTask', 'Matched'],
  ['End', 'None'],
  ['Terminate', 'None'],
]);

test('nothing leads to Start and nothing leaves an end', () => {
  const doc = leave();
  assert.ok(mayConnect(doc, 'start', 'approve', MODES));
  assert.ok(mayConnect(doc, 'start', 'yes', MODES));
  assert.ok(!mayConnect(doc, 'approve', 'start', MODES));
  assert.ok(!mayConnect(doc, 'start', 'start', MODES));
  assert.ok(!mayConnect(doc, 'yes', 'approve', MODES));
  assert.ok(!mayLeave(doc, 'yes', MODES));
  assert.ok(!mayConnect(doc, 'start', 'gone', MODES));
});

test('loops are legal, to the node itself as well, and so are two transitions between the same two', () => {
  const doc = leave();
  assert.ok(mayConnect(doc, 'approve', 'approve', MODES));
  assert.ok(mayConnect(doc, 'start', 'approve', MODES));
});

test('an activity that the server does not list may lead on', () => {
  const doc = { ...leave(), nodes: [...leave().nodes, { id: 'c', activityType: 'Custom' }] };
  assert.ok(mayLeave(doc, 'c', MODES));
});

test('only what can be reached and goes on fits between two nodes', () => {
  assert.ok(mayInsert('UserTask', MODES));
  assert.ok(!mayInsert('Start', MODES));
  assert.ok(!mayInsert('End', MODES));
});

test('a node that is joined to others is moved, not inserted', () => {
  const doc = { ...leave(), nodes: [...leave().nodes, { id: 'free', activityType: 'UserTask' }] };
  assert.ok(mayDropOn(doc, 'free', 't2', MODES));
  assert.ok(!mayDropOn(doc, 'approve', 't2', MODES));
  assert.ok(!mayDropOn(doc, 'free', 'gone', MODES));
});

test('there is one Start', () => {
  assert.ok(!mayAdd(leave(), 'Start'));
  assert.ok(mayAdd({ ...leave(), nodes: [] }, 'Start'));
  assert.ok(mayAdd(leave(), 'End'));
});
