import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Rescue, type Shelf } from '../../../static/designer/app/rescue';
import { sameJson } from '../../../static/designer/model/json';
import { leave } from './documents';

class Drawer implements Shelf {
  readonly items = new Map<string, string>();
  getItem(key: string): string | null {
    return this.items.get(key) ?? null;
  }
  setItem(key: string, value: string): void {
    this.items.set(key, value);
  }
  removeItem(key: string): void {
    this.items.delete(key);
  }
}

test('what could not be saved comes back digit for digit, for its own draft only', () => {
  const drawer = new Drawer();
  const rescue = new Rescue('d1', drawer);
  assert.equal(rescue.kept(), undefined);
  assert.ok(rescue.keep({ doc: leave(), revision: '7' }));
  const kept = new Rescue('d1', drawer).kept();
  assert.equal(kept?.revision, '7');
  assert.ok(sameJson(kept?.doc, leave()));
  assert.equal(new Rescue('d2', drawer).kept(), undefined);
  rescue.forget();
  assert.equal(rescue.kept(), undefined);
});

test('a full or spoilt storage is no error', () => {
  const full: Shelf = {
    getItem: () => '{"revision": "7", "document": "no json"}',
    setItem: () => {
      throw new Error('quota');
    },
    removeItem: () => {
      throw new Error('forbidden');
    },
  };
  const rescue = new Rescue('d1', full);
  assert.equal(rescue.keep({ doc: leave(), revision: '1' }), false);
  assert.equal(rescue.kept(), undefined);
  rescue.forget();
});
