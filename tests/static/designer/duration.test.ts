import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fromDays, fromSeconds, toDays, toSeconds } from '../../../static/designer/model/duration';

test('goes from a unit to seconds without losing a digit', () => {
  assert.equal(toSeconds('5', 'days')?.value, '432000');
  assert.equal(toSeconds('0.1', 'hours')?.value, '360');
  assert.equal(toSeconds('0.0001', 'minutes')?.value, '0.006');
  assert.equal(toSeconds('-1.5', 'minutes')?.value, '-90');
  assert.equal(toSeconds('1.50', 'seconds')?.value, '1.50');
  assert.equal(toSeconds('12345678901234567', 'days')?.value, '1066666657066666588800');
});

test('refuses what is no number', () => {
  assert.equal(toSeconds('two', 'days'), undefined);
  assert.equal(toSeconds('', 'seconds'), undefined);
  assert.equal(toSeconds('1e3', 'days'), undefined);
});

test('shows seconds in the largest unit without a rest', () => {
  assert.deepEqual(fromSeconds('432000'), { amount: '5', unit: 'days' });
  assert.deepEqual(fromSeconds('5400'), { amount: '90', unit: 'minutes' });
  assert.deepEqual(fromSeconds('0'), { amount: '0', unit: 'seconds' });
  assert.deepEqual(fromSeconds('1.5'), { amount: '1.5', unit: 'seconds' });
});

test('writes whole days as days, so that a work calendar counts working days', () => {
  assert.equal(toDays('3', 'days'), 'P3D');
  assert.equal(toDays('1.5', 'days'), undefined);
  assert.equal(toDays('3', 'hours'), undefined);
  assert.equal(fromDays('P12D'), '12');
  assert.equal(fromDays('PT12H'), undefined);
  assert.equal(fromDays('start + 1'), undefined);
  assert.deepEqual(fromSeconds('86400', 'hours'), { amount: '24', unit: 'hours' });
});
