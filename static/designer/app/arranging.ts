/** The layout, in the page for what is quick and in a worker for what is not. */
import type { DefinitionDoc } from '../model/definition';
import { writeJson } from '../model/json';
import { type Arrangement, arrange } from '../model/layout';
import type { LayoutRequest } from './layout.worker';

/** Up to here the layout takes less than a blink. */
const IN_PAGE = 500;

/** Arranges a document; `worker` is the address of the worker's script. */
export function arrangeAway(
  doc: DefinitionDoc,
  widths: Readonly<Record<string, number>>,
  worker: string | undefined,
): Promise<Arrangement> {
  if (doc.nodes.length <= IN_PAGE || !worker) return Promise.resolve(arrange(doc, (key) => widths[key] ?? 0));
  const request: LayoutRequest = { document: writeJson({ nodes: doc.nodes, transitions: doc.transitions }), widths };
  return new Promise((resolve, reject) => {
    const made = new Worker(worker, { type: 'module' });
    made.addEventListener('message', ({ data }: MessageEvent<Arrangement>) => {
      made.terminate();
      resolve(data);
    });
    made.addEventListener('error', (event) => {
      made.terminate();
      reject(new Error(event.message));
    });
    made.postMessage(request);
  });
}
