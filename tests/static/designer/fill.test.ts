import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fill } from '../../../static/designer/view/messages';

test('English texts are filled in as they stand', () => {
  assert.equal(
    fill('Publish {name} as version {version}?', { name: 'Leave', version: 2 }, false),
    'Publish Leave as version 2?',
  );
  assert.equal(fill('{a}{b} of {c}', { a: 1, b: 2 }, false), '12 of {c}');
});

test('in Chinese a name gets spaces beside it only when it is Latin', () => {
  const pattern = '将{name}发布为第 {version} 版？';
  assert.equal(fill(pattern, { name: 'Leave request', version: 2 }, true), '将 Leave request 发布为第 2 版？');
  assert.equal(fill(pattern, { name: '请假', version: 2 }, true), '将请假发布为第 2 版？');
  assert.equal(fill('没有名为“{name}”的变量', { name: 'amount' }, true), '没有名为“amount”的变量');
});
