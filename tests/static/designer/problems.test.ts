import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseJson } from '../../../static/designer/model/json';
import { badges, fieldLabel, pathSteps, readProblems, targetOf } from '../../../static/designer/model/problems';
import { leave } from './documents';

test('splits paths, with names that hold dots in quotes', () => {
  assert.deepEqual(pathSteps('nodes[3].properties.Expressions.total'), [
    'nodes',
    '3',
    'properties',
    'Expressions',
    'total',
  ]);
  assert.deepEqual(pathSteps('nodes[0].properties.Values["a.b"]'), ['nodes', '0', 'properties', 'Values', 'a.b']);
  assert.deepEqual(pathSteps('$.variables[1].name'), ['variables', '1', 'name']);
  assert.deepEqual(pathSteps(''), []);
});

test('brings a path to its node, transition, variable or setting', () => {
  const doc = leave();
  assert.deepEqual(targetOf(doc, 'nodes[1].properties.Title'), {
    kind: 'node',
    element: 'approve',
    field: ['properties', 'Title'],
  });
  assert.deepEqual(targetOf(doc, 'transitions[2].condition'), {
    kind: 'transition',
    element: '→t3',
    field: ['condition'],
  });
  assert.deepEqual(targetOf(doc, 'variables[0].type'), { kind: 'variable', index: 0, field: ['type'] });
  assert.deepEqual(targetOf(doc, 'displayName'), { kind: 'definition', field: ['displayName'] });
});

test('a path that leads nowhere uses the ids the problem names', () => {
  const doc = leave();
  assert.deepEqual(targetOf(doc, 'nodes', 'approve'), { kind: 'node', element: 'approve', field: [] });
  assert.deepEqual(targetOf(doc, 'nodes[99].name', undefined, 't1'), {
    kind: 'transition',
    element: '→t1',
    field: ['name'],
  });
  assert.deepEqual(targetOf(doc, 'nodes', 'gone'), { kind: 'definition', field: [] });
});

test('reads the answer of validate: errors before warnings, the worst one of a node as its badge', () => {
  const answer = parseJson(`{
    "warnings": [{"path": "nodes[1]", "key": "w", "message": "odd"}, {"path": "transitions[0].condition", "key": "w", "message": "never"}],
    "errors": [{"path": "nodes[1].properties.AssigneeRules[1].values[0]", "key": "e", "message": "does not parse"}]
  }`);
  const problems = readProblems(leave(), answer);
  assert.deepEqual(
    problems.map(({ severity, message }) => [severity, message]),
    [
      ['error', 'does not parse'],
      ['warning', 'odd'],
      ['warning', 'never'],
    ],
  );
  assert.equal(fieldLabel(problems[0] as never), 'AssigneeRules[1].values[0]');
  assert.deepEqual(
    [...badges(problems)],
    [
      ['approve', 'error'],
      ['→t1', 'warning'],
    ],
  );
});
