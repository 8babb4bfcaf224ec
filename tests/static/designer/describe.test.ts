import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Activities, outcomesOf, propertyValue } from '../../../static/designer/model/activities';
import { type NodeDoc, nodeOf, transitionOf } from '../../../static/designer/model/definition';
import {
  edgeSentence,
  nodeSentence,
  outcomeCondition,
  outcomeOfCondition,
  subtitle,
  transitionLabel,
} from '../../../static/designer/model/describe';
import { parseJson } from '../../../static/designer/model/json';
import { ellipse, textUnits } from '../../../static/designer/model/text';
import { knownVariables } from '../../../static/designer/model/variables';
import { leave } from './documents';

const ACTIVITIES = Activities.read(
  parseJson(`{"items": [
    {"type": "UserTask", "title": "Approval", "category": "people", "icon": "user-check", "outgoingMode": "Matched", "waits": true, "outcomes": [], "properties": []},
    {"type": "End", "title": "End", "category": "ends", "icon": "flag", "outgoingMode": "None", "properties": [{"name": "Outcome", "editor": "template", "kind": "template"}]},
    {"type": "Mine", "title": "Scan badge", "description": "Asks the door", "category": "custom", "icon": "puzzle"},
    {"type": "Log", "title": "Log", "category": "errors", "icon": "scroll-text"}
  ]}`),
);
const WORDS = {
  t: (key: string, args: Readonly<Record<string, string | number>> = {}) =>
    [key.replace(/^diagram\./, ''), ...Object.values(args)].join(' '),
  outcome: (label: string) => (label === 'approved' ? 'Yes' : label),
};

function node(activityType: string, properties: string): NodeDoc {
  return { id: 'n', name: 'N', activityType, properties: parseJson(properties) as never };
}

describe('the second line of a node', () => {
  test('says who decides', () => {
    const rules = (text: string) => subtitle(node('UserTask', text), ACTIVITIES, WORDS);
    assert.equal(rules('{"AssigneeRules":[{"type":"User","values":["anna"]}]}'), 'anna');
    assert.equal(rules('{"Assignees":["a","b"],"CompletionPolicy":"All"}'), 'policy.all 2');
    assert.equal(rules('{"assigneeRules":[{"type":"Starter","values":[]}]}'), 'starter');
    assert.equal(rules('{}'), 'Approval');
  });

  test('says what is particular, else the activity', () => {
    assert.equal(subtitle(node('End', '{"Outcome":"approved"}'), ACTIVITIES, WORDS), 'End · Yes');
    assert.equal(subtitle(node('Delay', '{"DurationSeconds":172800}'), ACTIVITIES, WORDS), 'duration.days 2');
    assert.equal(subtitle(node('Delay', '{"DurationSeconds":"hours * 3600"}'), ACTIVITIES, WORDS), 'hours * 3600');
    assert.equal(
      subtitle(node('SetVariable', '{"Values":{"a":1},"Expressions":{"a":"1","b":"2"}}'), ACTIVITIES, WORDS),
      'a, b',
    );
    assert.equal(subtitle(node('Mine', '{}'), ACTIVITIES, WORDS), 'Scan badge');
    assert.equal(subtitle({ ...node('Log', '{}'), name: 'Log' }, ACTIVITIES, WORDS), '');
  });
});

describe('labels of transitions', () => {
  test('show the name, the outcome in words, the condition, or that it is the default', () => {
    const doc = leave();
    assert.equal(transitionLabel(transitionOf(doc, 't1') as never, WORDS), '');
    assert.equal(transitionLabel(transitionOf(doc, 't2') as never, WORDS), 'Yes');
    assert.equal(transitionLabel(transitionOf(doc, 't3') as never, WORDS), 'otherwise');
    const base = { id: 't', sourceNodeId: 'a', targetNodeId: 'b' };
    assert.equal(transitionLabel({ ...base, condition: 'total > 5000' }, WORDS), 'total > 5000');
    assert.equal(transitionLabel({ ...base, condition: 'total > 5000', name: 'dear' }, WORDS), 'dear');
  });

  test('read the condition on an outcome back, and quote it', () => {
    assert.equal(outcomeCondition("it's"), "outcome == 'it\\'s'");
    assert.equal(outcomeOfCondition('  outcome=="done" '), 'done');
    assert.equal(outcomeOfCondition("outcome == 'a' && x"), undefined);
  });
});

test('sentences for readers name the way on', () => {
  assert.equal(
    nodeSentence(leave(), 'approve', ACTIVITIES, WORDS),
    'leads Approve, Approval, manager leads_if Granted Yes; leads_if Refused otherwise',
  );
  assert.equal(nodeSentence(leave(), 'yes', ACTIVITIES, WORDS), 'Granted, End, End · Yes');
  assert.equal(edgeSentence(leave(), 't1', WORDS), 'edge Start Approve ');
});

test('outcomes are those the node allows, else approved and rejected', () => {
  assert.deepEqual(outcomesOf(nodeOf(leave(), 'approve') as never, ACTIVITIES), ['approved', 'rejected']);
  assert.deepEqual(outcomesOf(node('UserTask', '{"AllowedOutcomes":["ok"]}'), ACTIVITIES), ['ok']);
  assert.deepEqual(outcomesOf(node('Log', '{}'), ACTIVITIES), []);
  assert.equal(propertyValue(node('Log', '{"Message":null}'), 'Message'), undefined);
});

test('the palette finds steps by any of their words', () => {
  assert.deepEqual(
    ACTIVITIES.groups('').map(({ category }) => category),
    ['people', 'errors', 'ends', 'custom'],
  );
  assert.deepEqual(
    ACTIVITIES.groups('door scan').map(({ activities }) => activities.map(({ type }) => type)),
    [['Mine']],
  );
  assert.deepEqual(ACTIVITIES.groups('nothing like it'), []);
  assert.deepEqual(ACTIVITIES.look('Http'), { category: 'connect', icon: 'globe', title: 'Http' });
});

test('Chinese takes five thirds of the room of Latin', () => {
  assert.equal(textUnits('ab'), 2);
  assert.equal(textUnits('审批'), 10 / 3);
  assert.equal(ellipse('Department head of all', 16), 'Department head…');
  assert.equal(ellipse('部门负责人审批以及其他', 16), '部门负责人审批以及…');
  assert.equal(ellipse('short', 16), 'short');
});

test('variables are those declared, then those that steps write, then the engine’s own', () => {
  const doc = {
    ...leave(),
    nodes: [...leave().nodes, node('SetVariable', '{"Expressions":{"total":"1","days":"2"}}')],
  };
  assert.deepEqual(
    knownVariables(doc, (key) => key).map(({ name, origin }) => [name, origin]),
    [
      ['days', 'designer.from_start'],
      ['total', 'N'],
      ['outcome', 'designer.from_engine'],
      ['lastError', 'designer.from_engine'],
    ],
  );
});
