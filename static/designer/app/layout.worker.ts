/** Arranges large diagrams beside the page, so that it goes on answering. */
import { readDefinition } from '../model/definition';
import { arrange } from '../model/layout';

export interface LayoutRequest {
  readonly document: string;
  /** Width of each transition's label, by its key. */
  readonly widths: Readonly<Record<string, number>>;
}

self.addEventListener('message', ({ data }: MessageEvent<LayoutRequest>) => {
  self.postMessage(arrange(readDefinition(data.document), (key) => data.widths[key] ?? 0));
});
