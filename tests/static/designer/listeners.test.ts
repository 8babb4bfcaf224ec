import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readDefinition } from '../../../static/designer/model/definition';
import { applyAll, History } from '../../../static/designer/model/history';
import { writeJson } from '../../../static/designer/model/json';
import * as listeners from '../../../static/designer/model/listeners';
import { targetOf } from '../../../static/designer/model/problems';
import { leave, random } from './documents';

function after(
  doc: ReturnType<typeof leave>,
  ...steps: ((doc: ReturnType<typeof leave>) => Parameters<typeof applyAll>[1])[]
) {
  return steps.reduce((before, step) => applyAll(before, step(before))[0], doc);
}

function told(doc: ReturnType<typeof leave>): string {
  return writeJson(doc.nodes.find(({ id }) => id === 'approve')?.listeners ?? null);
}

test('a listener is added as one that may be published, and taken away without a trace', () => {
  const made = after(leave(), (doc) => listeners.addListener(doc, 'approve'));
  assert.equal(told(made), '[{"type":"notification","on":"enter","expression":""}]');
  const gone = after(made, (doc) => listeners.removeListener(doc, 'approve', 0));
  assert.equal(writeJson(gone), writeJson(leave()));
});

test('a change keeps what the editor does not know of', () => {
  const doc = readDefinition(
    '{"nodes": [{"id": "approve", "activityType": "UserTask", "listeners": [{"type": "sms", "on": "leave", "x-rank": 1.50, "expression": "a"}, {"on": "enter"}]}]}',
  );
  const set = after(
    doc,
    (each) => listeners.setListener(each, 'approve', 0, { channel: 'Note', expression: 'b' }),
    (each) => listeners.setListener(each, 'approve', 1, { on: 'leave' }),
    (each) => listeners.setListener(each, 'approve', 0, { channel: undefined }),
  );
  assert.equal(told(set), '[{"type":"sms","on":"leave","x-rank":1.50,"expression":"b"},{"on":"leave"}]');
  assert.deepEqual(listeners.setListener(doc, 'approve', 2, { on: 'enter' }), []);
  assert.deepEqual(listeners.setListener(doc, 'nowhere', 0, { on: 'enter' }), []);
});

test('listeners change places', () => {
  const three = ['a', 'b', 'c'].reduce(
    (doc, expression, i) =>
      after(
        doc,
        (each) => listeners.addListener(each, 'approve'),
        (each) => listeners.setListener(each, 'approve', i, { expression }),
      ),
    leave(),
  );
  const order = (doc: ReturnType<typeof leave>) =>
    listeners
      .listenersOf(doc.nodes.find(({ id }) => id === 'approve'))
      .map(({ expression }) => expression)
      .join('');
  assert.equal(order(three), 'abc');
  assert.equal(order(after(three, (doc) => listeners.moveListener(doc, 'approve', 0, 1))), 'bac');
  assert.equal(order(after(three, (doc) => listeners.moveListener(doc, 'approve', 2, 0))), 'cab');
  for (const [from, to] of [
    [0, 0],
    [0, 3],
    [3, 0],
    [-1, 0],
  ] as const) {
    assert.deepEqual(listeners.moveListener(three, 'approve', from, to), [], `${from} to ${to}`);
  }
});

test('whatever was done is undone and done again', () => {
  const next = random(7);
  const pick = (count: number) => Math.floor(next() * count);
  for (let run = 0; run < 20; run += 1) {
    const history = new History(leave());
    const start = writeJson(history.doc);
    let steps = 0;
    for (let step = 0; step < 30; step += 1) {
      const { doc } = history;
      const ops = [
        () => listeners.addListener(doc, 'approve'),
        () => listeners.setListener(doc, 'approve', pick(3), { on: ['enter', 'leave'][pick(2)] }),
        () => listeners.setListener(doc, 'approve', pick(3), { expression: String(pick(100)) }),
        () => listeners.moveListener(doc, 'approve', pick(3), pick(3)),
        () => listeners.removeListener(doc, 'approve', pick(3)),
      ][pick(5)]?.();
      history.execute('step', ops ?? []);
    }
    const end = writeJson(history.doc);
    while (history.undo()) steps -= 1;
    assert.equal(writeJson(history.doc), start);
    while (history.redo()) steps += 1;
    assert.equal(steps, 0);
    assert.equal(writeJson(history.doc), end);
  }
});

test('a problem of a listener is found at its member', () => {
  assert.deepEqual(targetOf(leave(), 'nodes[1].listeners[2].expression'), {
    kind: 'node',
    element: 'approve',
    field: ['listeners', '2', 'expression'],
  });
});
