import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  type DefinitionDoc,
  keysOf,
  nodeOf,
  readDefinition,
  text,
  transitionOf,
} from '../../../static/designer/model/definition';
import * as edits from '../../../static/designer/model/edits';
import { applyAll, type Op } from '../../../static/designer/model/history';
import { parseJson, sameJson, writeJson } from '../../../static/designer/model/json';
import { compensationsOf, readBends, sceneOf } from '../../../static/designer/model/scene';
import { LEAVE, leave, leaveWithoutPlaces } from './documents';

function after(doc: DefinitionDoc, ops: readonly Op[]): DefinitionDoc {
  return applyAll(doc, ops)[0];
}

describe('the document', () => {
  test('is written as it was read, with members the designer knows nothing of', () => {
    const source = LEAVE.replace('"version": 1', '"version": 1, "extraProperties": {"a": 0.10}, "startForm": null');
    assert.ok(sameJson(parseJson(writeJson(readDefinition(source))), parseJson(source)));
  });

  test('shows two nodes with one id under two keys', () => {
    const doc = readDefinition(
      '{"nodes":[{"id":"a","activityType":"Log"},{"id":"a","activityType":"Log"}],"transitions":[]}',
    );
    assert.deepEqual(keysOf(doc.nodes), ['a', 'a~2']);
    assert.equal(sceneOf(doc).nodes.size, 2);
    const renamed = after(doc, edits.renameNode(doc, 'a~2', 'b'));
    assert.deepEqual(keysOf(renamed.nodes), ['a', 'b']);
  });

  test('leaves out of the picture what leads nowhere, and keeps it', () => {
    const doc = readDefinition(LEAVE.replace('"targetNodeId": "no"', '"targetNodeId": "gone"'));
    assert.deepEqual([...sceneOf(doc).edges.keys()], ['t1', 't2']);
    assert.equal(doc.transitions.length, 3);
  });
});

describe('nodes', () => {
  test('get the activity as their id, with a number when it is taken', () => {
    const doc = leave();
    assert.equal(edits.newNode(doc, { activityType: 'UserTask', name: 'A', at: { x: 3, y: 7 } }).id, 'userTask');
    assert.equal(edits.newNode(doc, { activityType: 'Start', name: 'A', at: { x: 0, y: 0 } }).id, 'start2');
    assert.equal(edits.newNode(doc, { activityType: '订单', name: 'A', at: { x: 0, y: 0 } }).id, 'node');
  });

  test('are placed on the grid', () => {
    const node = edits.newNode(leave(), { activityType: 'Log', name: 'A', at: { x: 13, y: -7 } });
    assert.equal(writeJson([node.x, node.y]), '[10,-10]');
  });

  test('take their transitions along when they go', () => {
    const doc = after(leave(), edits.remove(leave(), ['approve']));
    assert.deepEqual(keysOf(doc.nodes), ['start', 'yes', 'no']);
    assert.equal(doc.transitions.length, 0);
  });

  test('keep their transitions when they get another id', () => {
    const doc = after(leave(), edits.renameNode(leave(), 'approve', 'decide'));
    assert.equal(transitionOf(doc, 't1')?.targetNodeId, 'decide');
    assert.equal(transitionOf(doc, 't3')?.sourceNodeId, 'decide');
    assert.equal(sceneOf(doc).edges.size, 3);
  });

  test('keep only the properties that the new activity knows', () => {
    const doc = after(leave(), edits.swapActivity(leave(), 'yes', 'Terminate', ['Reason']));
    assert.equal(nodeOf(doc, 'yes')?.activityType, 'Terminate');
    assert.equal(writeJson(nodeOf(doc, 'yes')?.properties), '{}');
  });

  test('without places stay where the layout put them once one of them is moved', () => {
    const doc = leaveWithoutPlaces();
    const before = sceneOf(doc);
    assert.ok(before.filled);
    const moved = sceneOf(after(doc, edits.moveNodes(doc, ['no'], { x: 0, y: 200 })));
    assert.equal(moved.filled, undefined);
    for (const key of ['start', 'approve', 'yes']) {
      assert.deepEqual(moved.nodes.get(key)?.rect, before.nodes.get(key)?.rect, key);
    }
    assert.equal(moved.nodes.get('no')?.rect.y, (before.nodes.get('no')?.rect.y ?? 0) + 200);
  });
});

describe('transitions', () => {
  test('are inserted into: the condition stays with the first half', () => {
    const node = edits.newNode(leave(), { activityType: 'Log', name: 'Tell', at: { x: 400, y: 0 } });
    const doc = after(leave(), [...edits.addNode(leave(), node), ...edits.insertInto(leave(), 't2', node.id)]);
    assert.equal(transitionOf(doc, 't2')?.targetNodeId, 'log');
    assert.equal(transitionOf(doc, 't2')?.condition, "outcome == 'approved'");
    const second = transitionOf(doc, 't4');
    assert.deepEqual([second?.sourceNodeId, second?.targetNodeId, second?.condition], ['log', 'yes', undefined]);
  });

  test('make room for a step that goes in between: what lies behind moves on', () => {
    const doc = leave();
    const added = edits.addInto(doc, 't1', { activityType: 'Log', name: 'Tell', at: { x: 130, y: 0 } });
    assert.ok(added);
    const { nodes } = sceneOf(after(doc, added.ops));
    const x = (key: string) => nodes.get(key)?.rect.x;
    assert.deepEqual([x('start'), x(added.id), x('approve'), x('yes')], [0, 260, 520, 780]);
    const free = edits.addInto(doc, 't2', { activityType: 'Log', name: 'Tell', at: { x: 460, y: 300 } });
    assert.deepEqual(edits.addInto(doc, 'gone', { activityType: 'Log', name: '', at: { x: 0, y: 0 } }), undefined);
    assert.ok(free);
  });

  test('of one node have one default', () => {
    const doc = after(leave(), edits.setTransition(leave(), 't2', { isDefault: true, condition: undefined }));
    assert.deepEqual(
      doc.transitions.map((each) => [each.id, each.isDefault ?? false]),
      [
        ['t1', false],
        ['t2', true],
        ['t3', false],
      ],
    );
  });

  test('keep the bends drawn by hand as waypoints and lose them when they lead elsewhere', () => {
    const points = [
      { x: 172, y: 28 },
      { x: 200, y: 28 },
      { x: 200, y: 128 },
      { x: 346, y: 128 },
      { x: 346, y: 56 },
    ];
    const bent = after(leave(), edits.setLine(leave(), 't1', points));
    assert.equal(writeJson(transitionOf(bent, 't1')?.waypoints), '[[200,28],[200,128],[346,128]]');
    assert.deepEqual(sceneOf(bent).edges.get('t1')?.points, points);
    const led = after(bent, edits.reconnect(bent, 't1', 'target', 'no'));
    assert.equal(transitionOf(led, 't1')?.waypoints, undefined);
    assert.equal(transitionOf(led, 't1')?.targetNodeId, 'no');
  });

  test('bend along when one of their nodes moves, and go along when both do', () => {
    const bent = after(
      leave(),
      edits.setLine(leave(), 't1', [
        { x: 172, y: 28 },
        { x: 200, y: 28 },
        { x: 200, y: 128 },
        { x: 346, y: 128 },
        { x: 346, y: 56 },
      ]),
    );
    const one = after(bent, edits.moveNodes(bent, ['start'], { x: 0, y: 20 }));
    assert.deepEqual(readBends(transitionOf(one, 't1') as never)[0], { x: 200, y: 48 });
    const both = after(bent, edits.moveNodes(bent, ['start', 'approve'], { x: 10, y: 20 }));
    assert.deepEqual(readBends(transitionOf(both, 't1') as never), [
      { x: 210, y: 48 },
      { x: 210, y: 148 },
      { x: 356, y: 148 },
    ]);
  });
});

describe('variables', () => {
  test('get a free name and can change places', () => {
    const one = after(leave(), edits.addVariable(leave(), edits.newVariable(leave())));
    assert.deepEqual(
      one.variables.map(({ name }) => name),
      ['days', 'variable1'],
    );
    assert.equal(edits.newVariable(one).name, 'variable2');
    const moved = after(one, edits.moveVariable(one, 1, 0));
    assert.deepEqual(
      moved.variables.map(({ name }) => name),
      ['variable1', 'days'],
    );
  });

  test('keep the digits of their default', () => {
    const doc = after(leave(), edits.setVariable(leave(), 0, { title: 'Days' }));
    assert.equal(text(doc.variables[0]?.title), 'Days');
    assert.match(writeJson(doc.variables[0]), /"defaultValue":1\.50/);
  });
});

describe('what a node is undone by', () => {
  const doc = readDefinition(`{"nodes": [
    {"id": "pay", "activityType": "Http", "compensateWith": "refund", "x": 0, "y": 0},
    {"id": "refund", "activityType": "Http", "x": 0, "y": 200},
    {"id": "lost", "activityType": "Http", "compensateWith": "gone", "x": 300, "y": 0}
  ]}`);

  test('is where a line leads to, when it is there', () => {
    const lines = compensationsOf(sceneOf(doc)).map(({ source, target }) => [source, target]);
    assert.deepEqual(lines, [['pay', 'refund']]);
  });

  test('keeps its id when the id changes', () => {
    const renamed = after(doc, edits.renameNode(doc, 'refund', 'payBack'));
    assert.deepEqual(
      renamed.nodes.map(({ id, compensateWith }) => [id, compensateWith]),
      [
        ['pay', 'payBack'],
        ['payBack', undefined],
        ['lost', 'gone'],
      ],
    );
  });
});
