import assert from 'node:assert/strict';
import { test } from 'node:test';
import { paste, readClip, copy as toClip } from '../../../static/designer/model/clipboard';
import { type DefinitionDoc, keysOf, text, transitionElement } from '../../../static/designer/model/definition';
import * as edits from '../../../static/designer/model/edits';
import { History, type Op } from '../../../static/designer/model/history';
import { LosslessNumber, sameJson, writeJson } from '../../../static/designer/model/json';
import { arrange } from '../../../static/designer/model/layout';
import { sceneOf } from '../../../static/designer/model/scene';
import { leave, leaveWithoutPlaces, random } from './documents';

type Roll = () => number;
type Edit = (doc: DefinitionDoc, roll: Roll) => readonly Op[];

function pick<T>(items: readonly T[], roll: Roll): T | undefined {
  return items[Math.floor(roll() * items.length)];
}

function someNode(doc: DefinitionDoc, roll: Roll): string {
  return pick(keysOf(doc.nodes), roll) ?? '';
}

function someTransition(doc: DefinitionDoc, roll: Roll): string {
  return pick(keysOf(doc.transitions), roll) ?? '';
}

const EDITS: Readonly<Record<string, Edit>> = {
  add: (doc, roll) => {
    const at = { x: roll() * 900, y: roll() * 600 };
    return edits.addNode(
      doc,
      edits.newNode(doc, { activityType: pick(['Log', 'UserTask', 'End'], roll) as string, name: 'x', at }),
    );
  },
  insert: (doc, roll) => {
    const node = edits.newNode(doc, { activityType: 'Log', name: 'between', at: { x: 0, y: 0 } });
    return [...edits.addNode(doc, node), ...edits.insertInto(doc, someTransition(doc, roll), node.id)];
  },
  connect: (doc, roll) => edits.connect(doc, someNode(doc, roll), someNode(doc, roll)),
  move: (doc, roll) => edits.moveNodes(doc, [someNode(doc, roll), someNode(doc, roll)], { x: roll() * 50, y: 30 }),
  remove: (doc, roll) => edits.remove(doc, [someNode(doc, roll), transitionElement(someTransition(doc, roll))]),
  property: (doc, roll) =>
    edits.setProperty(
      doc,
      someNode(doc, roll),
      pick(['Title', 'Message'], roll) as string,
      roll() < 0.3 ? undefined : new LosslessNumber('1.50'),
    ),
  name: (doc, roll) =>
    edits.setNode(doc, someNode(doc, roll), { name: `n${Math.floor(roll() * 100)}`, note: undefined }),
  rename: (doc, roll) => edits.renameNode(doc, someNode(doc, roll), `r${Math.floor(roll() * 100)}`),
  swap: (doc, roll) => edits.swapActivity(doc, someNode(doc, roll), 'Log', ['Message']),
  condition: (doc, roll) =>
    edits.setTransition(doc, someTransition(doc, roll), { condition: 'a > 1', isDefault: roll() < 0.5 }),
  reconnect: (doc, roll) =>
    edits.reconnect(doc, someTransition(doc, roll), roll() < 0.5 ? 'source' : 'target', someNode(doc, roll)),
  bend: (doc, roll) =>
    edits.setLine(doc, someTransition(doc, roll), [
      { x: 0, y: 0 },
      { x: roll() * 100, y: 0 },
      { x: 50, y: roll() * 100 },
    ]),
  layout: (doc) => edits.place(doc, arrange(doc)),
  setting: (_doc, roll) => edits.setSetting('description', roll() < 0.4 ? undefined : `about ${roll()}`),
  addVariable: (doc) => edits.addVariable(doc, edits.newVariable(doc)),
  setVariable: (doc, roll) =>
    edits.setVariable(doc, Math.floor(roll() * doc.variables.length), { title: 'T', required: roll() < 0.5 }),
  removeVariable: (doc, roll) => edits.removeVariable(doc, Math.floor(roll() * doc.variables.length)),
  moveVariable: (doc, roll) => edits.moveVariable(doc, Math.floor(roll() * 3), Math.floor(roll() * 3)),
  paste: (doc, roll) => {
    const clip = readClip(toClip(doc, [someNode(doc, roll), someNode(doc, roll)]) ?? '');
    return clip ? paste(doc, clip, { x: roll() * 300, y: roll() * 300 }).ops : [];
  },
};

for (const start of [leave, leaveWithoutPlaces]) {
  test(`undo of all gives the start, redo of all the end, whatever was done (${start.name})`, () => {
    for (let seed = 1; seed <= 40; seed += 1) {
      const roll = random(seed);
      const before = start();
      const history = new History(before, () => 0);
      const states = [before];
      for (let step = 0; step < 60; step += 1) {
        const [name, edit] = pick(Object.entries(EDITS), roll) as [string, Edit];
        const merge = roll() < 0.2 ? 'field' : undefined;
        if (history.execute(name, edit(history.doc, roll), merge)) states.push(history.doc);
        if (roll() < 0.15) {
          history.undo();
          if (roll() < 0.7) history.redo();
        }
        sceneOf(history.doc);
      }
      const end = history.doc;
      while (history.undo());
      assert.ok(sameJson(history.doc, before), `seed ${seed}: undo of all`);
      assert.equal(history.undoLabel, undefined);
      while (history.redo()) if (sameJson(history.doc, end)) break;
      assert.ok(sameJson(history.doc, end), `seed ${seed}: redo of all`);
    }
  });
}

test('every kind of edit is tried and every one of them changes something', () => {
  for (const [name, edit] of Object.entries(EDITS)) {
    let changed = false;
    for (let seed = 1; seed <= 60 && !changed; seed += 1) {
      const history = new History(
        name === 'moveVariable' ? { ...leave(), variables: [{ name: 'a' }, { name: 'b' }, { name: 'c' }] } : leave(),
      );
      changed = history.execute(name, edit(history.doc, random(seed)));
    }
    assert.ok(changed, name);
  }
});

test('keystrokes in one field are one step back, those in another field are not', () => {
  let now = 0;
  const history = new History(leave(), () => now);
  const type = (name: string, merge: string) =>
    history.execute('name', edits.setNode(history.doc, 'start', { name }), merge);
  type('B', 'name');
  now += 400;
  type('Be', 'name');
  now += 400;
  type('Beg', 'other');
  assert.equal(text(history.doc.nodes[0]?.name), 'Beg');
  history.undo();
  assert.equal(text(history.doc.nodes[0]?.name), 'Be');
  history.undo();
  assert.equal(text(history.doc.nodes[0]?.name), 'Start');
});

test('a pause begins a new step', () => {
  let now = 0;
  const history = new History(leave(), () => now);
  history.execute('name', edits.setNode(history.doc, 'start', { name: 'a' }), 'name');
  now += 5000;
  history.execute('name', edits.setNode(history.doc, 'start', { name: 'ab' }), 'name');
  history.undo();
  assert.equal(text(history.doc.nodes[0]?.name), 'a');
});

test('what changes nothing is no step, and a new step forgets what could be redone', () => {
  const history = new History(leave());
  assert.equal(history.execute('same', edits.setNode(history.doc, 'start', { name: 'Start' })), false);
  assert.equal(history.undoLabel, undefined);
  history.execute('one', edits.setSetting('category', 'a'));
  history.undo();
  assert.equal(history.redoLabel, 'one');
  history.execute('two', edits.setSetting('category', 'b'));
  assert.equal(history.redo(), false);
});

test('a step that cannot be done leaves the document alone', () => {
  const history = new History(leave());
  const before = writeJson(history.doc);
  assert.throws(() => history.execute('bad', [{ op: 'remove', list: 'nodes', index: 99 }]), RangeError);
  assert.equal(writeJson(history.doc), before);
});
