/** Draws nodes and transitions, the same in designer, monitor, task and request. Only the paint differs. */
import type { Category } from '../model/activities';
import { labelPoint, NODE_HEIGHT, NODE_WIDTH, type Point, type Rect, roundedPath } from '../model/geometry';
import type { CompensationLine } from '../model/scene';
import { textUnits } from '../model/text';
import { svg } from '../view/html';
import { iconAddress } from '../view/icons';

export interface Mark {
  readonly kind: 'err' | 'warn' | 'ok' | 'wait' | 'run' | 'off';
  readonly icon: string;
}

export interface NodePaint {
  readonly title: string;
  readonly subtitle: string;
  readonly category: Category;
  readonly icon: string;
  readonly mark: Mark | undefined;
  /** Pill at the lower edge: "2 tries", "1 of 2". */
  readonly count: string | undefined;
}

export interface EdgePaint {
  readonly label: string;
  readonly isDefault: boolean;
  readonly mark: Mark | undefined;
  /** What the label may not cover. */
  readonly nodes: readonly Rect[];
}

const BAR = 'M8 0H5V56H8A8 8 0 0 1 0 48V8A8 8 0 0 1 8 0Z';

function glyph(name: string, x: number, y: number, size: number, className: string): SVGSVGElement {
  const use = svg('use', { href: iconAddress(name) });
  return svg('svg', { class: className, x, y, width: size, height: size, viewBox: '0 0 24 24' }, use);
}

function badge(mark: Mark, x: number, y: number): SVGGElement {
  const circle = svg('circle', { r: 10 });
  return svg(
    'g',
    { class: `badge ${mark.kind}`, transform: `translate(${x} ${y})` },
    circle,
    glyph(mark.icon, -6, -6, 12, 'i'),
  );
}

function pill(text: string): SVGGElement {
  const width = textUnits(text) * 6 + 18;
  const x = NODE_WIDTH - 8 - width;
  return svg(
    'g',
    { class: 'count' },
    svg('rect', { x, y: NODE_HEIGHT - 9, width, height: 18, rx: 9 }),
    svg('text', { x: x + width / 2, y: NODE_HEIGHT + 4, 'text-anchor': 'middle' }, text),
  );
}

/** Draws a node at the origin of the group. */
export function paintNode(group: SVGElement, paint: NodePaint): void {
  const single = !paint.subtitle;
  group.replaceChildren(
    svg('rect', { class: 'halo', x: -4, y: -4, width: NODE_WIDTH + 8, height: NODE_HEIGHT + 8, rx: 12 }),
    svg('rect', { class: 'box', width: NODE_WIDTH, height: NODE_HEIGHT, rx: 8 }),
    svg('path', { class: 'bar', d: BAR }),
    svg('rect', { class: 'tile', x: 13, y: 14, width: 28, height: 28, rx: 6 }),
    glyph(paint.icon, 19, 20, 16, 'i glyph'),
    svg('text', { class: 't', x: 50, y: single ? 33 : 24 }, paint.title),
  );
  if (!single) group.append(svg('text', { class: 's', x: 50, y: 41 }, paint.subtitle));
  for (const [x, y] of [
    [0, 0],
    [NODE_WIDTH, 0],
    [0, NODE_HEIGHT],
    [NODE_WIDTH, NODE_HEIGHT],
  ] as const) {
    group.append(svg('rect', { class: 'handle', x: x - 3.5, y: y - 3.5, width: 7, height: 7, rx: 2 }));
  }
  if (paint.count) group.append(pill(paint.count));
  if (paint.mark) group.append(badge(paint.mark, NODE_WIDTH - 4, 0));
}

const SLASH = 12;

/** Width of a label's pill; the default branch has a slash before its label. */
export function labelWidth(label: string, isDefault = false): number {
  if (!label) return 0;
  return Math.round(textUnits(label) * 6.6 + 18 + (isDefault ? SLASH : 0));
}

function labelPill(points: readonly Point[], paint: EdgePaint): SVGGElement {
  const width = labelWidth(paint.label, paint.isDefault);
  const at = labelPoint(points, width, paint.nodes);
  const group = svg(
    'g',
    { class: paint.isDefault ? 'edge-label default' : 'edge-label' },
    svg('rect', { x: at.x - width / 2, y: at.y - 11, width, height: 22, rx: 11 }),
    svg('text', { x: at.x + (paint.isDefault ? SLASH / 2 : 0), y: at.y + 4, 'text-anchor': 'middle' }, paint.label),
  );
  if (paint.isDefault) {
    group.append(svg('path', { class: 'slash', d: `M${at.x - width / 2 + 9} ${at.y + 4} l5 -8` }));
  }
  if (paint.mark) group.append(badge(paint.mark, at.x + width / 2 - 2, at.y - 11));
  return group;
}

/** Draws a transition over its points; `labels` is what its label goes into, when that lies in another layer. */
export function paintEdge(
  group: SVGElement,
  points: readonly Point[],
  paint: EdgePaint,
  labels: SVGElement = group,
): void {
  group.replaceChildren(svg('path', { class: 'line', d: roundedPath(points) }));
  if (paint.label) {
    labels.append(labelPill(points, paint));
  } else if (paint.mark) {
    const at = labelPoint(points, 20, paint.nodes);
    group.append(badge(paint.mark, at.x, at.y));
  }
}

/** Draws the dashed lines to the nodes that undo others; nothing is redrawn while they are the same. */
export function paintCompensations(layer: SVGElement, lines: readonly CompensationLine[]): void {
  const paths = lines.map(({ points }) => roundedPath(points));
  const drawn = [...layer.children].map((each) => each.getAttribute('d'));
  if (paths.length === drawn.length && paths.every((path, i) => path === drawn[i])) return;
  layer.replaceChildren(...paths.map((d) => svg('path', { class: 'compensation', d })));
}

/** Arrow heads; the style sheet chooses among them by state. */
export function arrowHeads(): SVGDefsElement {
  const heads = ['plain', 'sel', 'done', 'idle', 'bad'].map((kind) =>
    svg(
      'marker',
      {
        id: `wp-arrow-${kind}`,
        class: `arrow ${kind}`,
        viewBox: '0 0 10 10',
        refX: 8.5,
        refY: 5,
        markerWidth: 8,
        markerHeight: 8,
        markerUnits: 'userSpaceOnUse',
        orient: 'auto',
      },
      svg('path', { d: 'M0 .8 9 5 0 9.2Z' }),
    ),
  );
  return svg('defs', {}, ...heads);
}
