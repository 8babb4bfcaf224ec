/** The whole diagram in small, with the visible part as a frame that can be dragged. */
import { bounds, type Point, type Rect } from '../model/geometry';
import type { Scene } from '../model/scene';
import { svg } from '../view/html';

export interface MinimapHost {
  viewbox(): Rect;
  centreOn(point: Point): void;
  categoryOf(activityType: string): string;
}

export class Minimap {
  private readonly picture: SVGSVGElement;
  private readonly frame = svg('rect', { class: 'view', rx: 12 });
  private readonly nodes = svg('g');
  private drawn: string | undefined;
  private extent: Rect = { x: 0, y: 0, width: 1, height: 1 };

  constructor(
    readonly element: HTMLElement,
    label: string,
    private readonly host: MinimapHost,
  ) {
    this.picture = svg('svg', { class: 'mini', role: 'img', 'aria-label': label }, this.nodes, this.frame);
    element.append(this.picture);
    this.picture.addEventListener('pointerdown', (event) => {
      this.picture.setPointerCapture(event.pointerId);
      this.go(event);
    });
    this.picture.addEventListener('pointermove', (event) => {
      if (this.picture.hasPointerCapture(event.pointerId)) this.go(event);
    });
  }

  get open(): boolean {
    return !this.element.hidden;
  }

  toggle(open: boolean): void {
    this.element.hidden = !open;
  }

  drawNodes(scene: Scene): void {
    if (!this.open) return;
    const look = [...scene.nodes.values()].map(({ node, rect }) => `${node.activityType} ${rect.x} ${rect.y}`).join();
    if (look === this.drawn) return;
    this.drawn = look;
    const shapes = [...scene.nodes.values()].map(({ node, rect }) =>
      svg('rect', {
        class: 'm',
        'data-cat': this.host.categoryOf(node.activityType),
        x: rect.x,
        y: rect.y,
        width: rect.width,
        height: rect.height,
        rx: 10,
      }),
    );
    this.nodes.replaceChildren(...shapes);
    this.extent = bounds([...scene.nodes.values()].map(({ rect }) => rect)) ?? { x: 0, y: 0, width: 800, height: 500 };
    this.drawFrame();
  }

  drawFrame(): void {
    if (!this.open) return;
    const view = this.host.viewbox();
    const all = bounds([this.extent, view]) ?? view;
    const pad = Math.max(all.width, all.height) * 0.04;
    const box = [all.x - pad, all.y - pad, all.width + 2 * pad, all.height + 2 * pad];
    this.picture.setAttribute('viewBox', box.map(Math.round).join(' '));
    for (const name of ['x', 'y', 'width', 'height'] as const)
      this.frame.setAttribute(name, String(Math.round(view[name])));
  }

  private go(event: PointerEvent): void {
    const matrix = this.picture.getScreenCTM()?.inverse();
    if (matrix) this.host.centreOn(new DOMPoint(event.clientX, event.clientY).matrixTransform(matrix));
  }
}
