import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Saver, type SaveState, type Written } from '../../../static/designer/app/saver';
import type { DefinitionDoc } from '../../../static/designer/model/definition';
import { leave } from './documents';

/** A server that answers as told, and a clock that stands until it is moved. */
class Bench {
  readonly written: { doc: DefinitionDoc; revision: string }[] = [];
  readonly states: SaveState[] = [];
  private answers: ((written: Written) => void)[] = [];
  private timers: { in: number; callback: () => void }[] = [];
  readonly saver = new Saver('7', {
    write: (doc, revision) => {
      this.written.push({ doc, revision });
      return new Promise((resolve) => this.answers.push(resolve));
    },
    later: (milliseconds, callback) => {
      const timer = { in: milliseconds, callback };
      this.timers.push(timer);
      return () => {
        this.timers = this.timers.filter((each) => each !== timer);
      };
    },
    now: () => new Date(0),
    report: (state) => this.states.push(state),
  });

  get kinds(): readonly string[] {
    return this.states.map(({ kind }) => kind);
  }

  get waits(): readonly number[] {
    return this.timers.map((timer) => timer.in);
  }

  elapse(): void {
    const due = this.timers;
    this.timers = [];
    for (const { callback } of due) callback();
  }

  async answer(written: Written): Promise<void> {
    this.answers.shift()?.(written);
    // The saver goes on in promises of its own.
    for (let i = 0; i < 5; i += 1) await Promise.resolve();
  }
}

const named = (displayName: string): DefinitionDoc => ({ ...leave(), displayName });

test('writes a moment after the last change, under the revision last read', async () => {
  const bench = new Bench();
  bench.saver.changed(named('a'));
  bench.saver.changed(named('b'));
  assert.deepEqual(bench.waits, [1000]);
  assert.ok(bench.saver.dirty);
  bench.elapse();
  assert.deepEqual(
    bench.written.map(({ doc, revision }) => [doc.displayName, revision]),
    [['b', '7']],
  );
  await bench.answer({ ok: true, revision: '8' });
  assert.equal(bench.saver.currentRevision, '8');
  assert.deepEqual(bench.kinds, ['waiting', 'waiting', 'saving', 'saved']);
  assert.ok(!bench.saver.dirty);
});

test('one write at a time: what changes meanwhile is written after it, under its revision', async () => {
  const bench = new Bench();
  bench.saver.changed(named('a'));
  bench.elapse();
  bench.saver.changed(named('b'));
  bench.elapse();
  assert.equal(bench.written.length, 1);
  await bench.answer({ ok: true, revision: '8' });
  assert.deepEqual(
    bench.written.map(({ doc, revision }) => [doc.displayName, revision]),
    [
      ['a', '7'],
      ['b', '8'],
    ],
  );
  await bench.answer({ ok: true, revision: '9' });
  assert.equal(bench.kinds.at(-1), 'saved');
});

test('offline it counts what is only here, tries again ever later, and recovers', async () => {
  const bench = new Bench();
  bench.saver.changed(named('a'));
  bench.elapse();
  await bench.answer({ ok: false, why: 'unreachable' });
  assert.deepEqual(bench.states.at(-1), { kind: 'offline', changes: 1 });
  assert.deepEqual(bench.waits, [2000]);
  bench.saver.changed(named('b'));
  assert.deepEqual(bench.states.at(-1), { kind: 'offline', changes: 2 });
  bench.elapse();
  await bench.answer({ ok: false, why: 'unreachable' });
  assert.deepEqual(bench.waits, [4000]);
  bench.elapse();
  assert.equal(bench.written.at(-1)?.doc.displayName, 'b');
  await bench.answer({ ok: true, revision: '8' });
  assert.equal(bench.kinds.at(-1), 'saved');
  assert.ok(!bench.saver.dirty);
});

test('a stale write stops all writing until somebody decided', async () => {
  const bench = new Bench();
  bench.saver.changed(named('a'));
  bench.elapse();
  await bench.answer({ ok: false, why: 'stale', details: { updatedBy: 'lena' } });
  assert.deepEqual(bench.states.at(-1), { kind: 'conflict', details: { updatedBy: 'lena' } });
  bench.saver.changed(named('b'));
  bench.elapse();
  assert.equal(await bench.saver.flush(), false);
  assert.equal(bench.written.length, 1);
  bench.saver.reset('9');
  assert.ok(!bench.saver.dirty);
  bench.saver.changed(named('c'));
  bench.elapse();
  assert.deepEqual([bench.written.at(-1)?.doc.displayName, bench.written.at(-1)?.revision], ['c', '9']);
});

test('flush writes at once and says whether all is on the server', async () => {
  const bench = new Bench();
  assert.equal(await bench.saver.flush(), true);
  bench.saver.changed(named('a'));
  const flushed = bench.saver.flush();
  assert.equal(bench.written.length, 1);
  await bench.answer({ ok: true, revision: '8' });
  assert.equal(await flushed, true);
  assert.deepEqual(bench.waits, []);
});

test('what the server refuses stays here and is tried again with the next change', async () => {
  const bench = new Bench();
  bench.saver.changed(named('a'));
  bench.elapse();
  await bench.answer({ ok: false, why: 'refused', message: 'too large' });
  assert.deepEqual(bench.states.at(-1), { kind: 'refused', message: 'too large' });
  assert.ok(bench.saver.dirty);
  bench.saver.changed(named('b'));
  bench.elapse();
  assert.equal(bench.written.at(-1)?.doc.displayName, 'b');
});
