import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  jsonProblem,
  LosslessNumber,
  numberFromText,
  parseJson,
  sameJson,
  writeJson,
} from '../../../static/designer/model/json';

test('keeps numbers as they were written', () => {
  const source = '{"big":12345678901234567.89,"scale":1.50,"small":1e-7}';
  assert.equal(writeJson(parseJson(source)), source);
});

test('reads what a person types as a number with the same digits, and nothing else', () => {
  assert.equal(numberFromText(' 007'), undefined);
  assert.equal(numberFromText('1.50')?.value, '1.50');
  assert.equal(numberFromText('+3')?.value, '3');
  for (const word of ['', 'abc', '1,5', '.5', '1.', 'NaN', 'Infinity', '0x10']) {
    assert.equal(numberFromText(word), undefined, word);
  }
});

test('compares by digits, whatever the order of members', () => {
  assert.ok(sameJson(parseJson('{"a":1.0,"b":[null,true]}'), parseJson('{"b":[null,true],"a":1.0}')));
  assert.ok(!sameJson(new LosslessNumber('1.0'), new LosslessNumber('1')));
  assert.ok(!sameJson(parseJson('{"a":1}'), parseJson('{"a":1,"b":2}')));
});

test('says where a text stops being JSON', () => {
  assert.equal(jsonProblem('{"a": [1, 2]}'), undefined);
  assert.deepEqual(jsonProblem('{\n  "a": x\n}'), { line: 2, column: 8 });
  assert.deepEqual(jsonProblem('[1'), { line: 1, column: 3 });
});
