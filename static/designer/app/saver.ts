/** Saves the draft by itself, one write at a time, and says how that stands. Nothing is ever written over unseen. */
import type { DefinitionDoc } from '../model/definition';
import type { JsonObject } from '../model/json';

export type SaveState =
  | { readonly kind: 'saved'; readonly at: Date }
  | { readonly kind: 'waiting' }
  | { readonly kind: 'saving' }
  | { readonly kind: 'offline'; readonly changes: number }
  | { readonly kind: 'conflict'; readonly details: JsonObject }
  | { readonly kind: 'refused'; readonly message: string };

/** How a write ended. */
export type Written =
  | { readonly ok: true; readonly revision: string }
  | { readonly ok: false; readonly why: 'stale'; readonly details: JsonObject }
  | { readonly ok: false; readonly why: 'unreachable' }
  | { readonly ok: false; readonly why: 'refused'; readonly message: string };

export interface SaverPorts {
  write(doc: DefinitionDoc, revision: string): Promise<Written>;
  /** Calls back after a while; answers how to call it off. */
  later(milliseconds: number, callback: () => void): () => void;
  now(): Date;
  report(state: SaveState): void;
}

const AFTER_MS = 1000;
const RETRY_MS = [2000, 4000, 8000, 15000, 30000] as const;

export class Saver {
  private pending: DefinitionDoc | undefined;
  private running: Promise<boolean> | undefined;
  private cancelTimer: (() => void) | undefined;
  private changes = 0;
  private failures = 0;
  private blocked = false;

  constructor(
    private revision: string,
    private readonly ports: SaverPorts,
  ) {}

  get currentRevision(): string {
    return this.revision;
  }

  /** True when something is not on the server yet. */
  get dirty(): boolean {
    return this.pending !== undefined || this.running !== undefined;
  }

  /** The document changed: it is written a moment later. */
  changed(doc: DefinitionDoc): void {
    this.pending = doc;
    this.changes += 1;
    if (this.blocked) return;
    if (this.failures > 0) this.ports.report({ kind: 'offline', changes: this.changes });
    else this.ports.report({ kind: 'waiting' });
    if (this.failures === 0) this.plan(AFTER_MS);
  }

  /** Writes what is pending now; true when all is on the server afterwards. */
  async flush(): Promise<boolean> {
    this.cancelTimer?.();
    while (!this.blocked && (this.pending !== undefined || this.running !== undefined)) {
      this.running ??= this.writeOnce();
      if (!(await this.running)) return false;
    }
    return !this.blocked;
  }

  /** Starts over from what the server has, after its version was taken. */
  reset(revision: string): void {
    this.cancelTimer?.();
    this.revision = revision;
    this.pending = undefined;
    this.blocked = false;
    this.failures = 0;
    this.changes = 0;
    this.ports.report({ kind: 'saved', at: this.ports.now() });
  }

  private plan(milliseconds: number): void {
    this.cancelTimer?.();
    this.cancelTimer = this.ports.later(milliseconds, () => void this.flush());
  }

  private async writeOnce(): Promise<boolean> {
    const doc = this.pending as DefinitionDoc;
    const covered = this.changes;
    this.pending = undefined;
    this.ports.report({ kind: 'saving' });
    const written = await this.ports.write(doc, this.revision);
    this.running = undefined;
    if (written.ok) {
      this.revision = written.revision;
      this.failures = 0;
      this.changes -= covered;
      this.ports.report(this.pending === undefined ? { kind: 'saved', at: this.ports.now() } : { kind: 'waiting' });
      return true;
    }
    this.pending ??= doc;
    this.failed(written);
    return false;
  }

  private failed(written: Exclude<Written, { ok: true }>): void {
    if (written.why === 'stale') {
      this.blocked = true;
      this.ports.report({ kind: 'conflict', details: written.details });
    } else if (written.why === 'refused') {
      this.ports.report({ kind: 'refused', message: written.message });
    } else {
      this.failures += 1;
      this.ports.report({ kind: 'offline', changes: this.changes });
      this.plan(RETRY_MS[Math.min(this.failures, RETRY_MS.length) - 1] as number);
    }
  }
}
