import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readableScale, wholeScale } from '../../../static/diagram/viewport';

const flow = { x: 80, y: 100, width: 1144, height: 144 };

test('a map shows all of a wide flow, however small', () => {
  // 1144 and a margin of 28 on both sides are 1200.
  assert.equal(wholeScale(flow, { width: 240, height: 168 }), 0.2);
  assert.equal(wholeScale(flow, { width: 60, height: 168 }), 0.05);
});

test('a picture to read stays readable and is never enlarged', () => {
  assert.equal(readableScale(flow, { width: 240, height: 168 }), 0.48);
  assert.equal(readableScale(flow, { width: 900, height: 400 }), 0.75);
  assert.equal(readableScale(flow, { width: 4000, height: 4000 }), 1);
});
