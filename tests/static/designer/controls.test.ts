import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CONTROLS } from '../../../static/designer/fields/controls';
import { readForm, writeForm } from '../../../static/designer/fields/form';
import { EDITORS } from '../../../static/designer/model/activities';
import { parseJson, writeJson } from '../../../static/designer/model/json';
import { readDefault } from '../../../static/designer/panels/variables';

test('every editor of the closed list has a control', () => {
  assert.deepEqual(Object.keys(CONTROLS).sort(), [...EDITORS].sort());
});

test('a form keeps what its table does not show', () => {
  const source =
    '{"type":"object","x-order":1,"properties":{"days":{"type":"number","minimum":0.50},"why":{"type":"string"}},"required":["days"]}';
  const value = parseJson(source);
  const rows = readForm(value);
  assert.deepEqual(
    rows.map(({ name, required }) => [name, required]),
    [
      ['days', true],
      ['why', false],
    ],
  );
  assert.equal(writeJson(writeForm(value, rows)), source);
  assert.equal(writeForm(value, []), undefined);
});

test('a default is read as the type of its variable says', () => {
  assert.equal(writeJson(readDefault('number', '1.50')), '1.50');
  assert.equal(readDefault('number', 'many'), undefined);
  assert.equal(readDefault('boolean', 'true'), true);
  assert.equal(readDefault('string', '5'), '5');
  assert.equal(writeJson(readDefault('array', '[1, 2.0]')), '[1,2.0]');
  assert.equal(readDefault('object', '{'), undefined);
});
