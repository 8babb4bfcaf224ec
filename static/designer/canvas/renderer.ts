/** Lets diagram-js draw with our paint. */
import BaseRenderer from 'diagram-js/lib/draw/BaseRenderer';
import { NODE_HEIGHT, NODE_WIDTH } from '../model/geometry';
import type { DjsElement, EventBus } from './djs';
import { type EdgePaint, type NodePaint, paintEdge, paintNode } from './paint';

export interface Paints {
  node(id: string, activityType: string | undefined): NodePaint;
  edge(id: string): EdgePaint;
}

const PRIORITY = 2000;

/** One renderer for everything on the canvas; what a thing looks like is asked of `paints`. */
export class Renderer extends BaseRenderer {
  static $inject = ['eventBus', 'paints'];

  constructor(
    eventBus: EventBus,
    private readonly paints: Paints,
  ) {
    super(eventBus as never, PRIORITY);
  }

  override canRender(): boolean {
    return true;
  }

  override drawShape(group: SVGElement, shape: unknown): SVGElement {
    const { id, activityType } = shape as DjsElement;
    const paint = this.paints.node(id, activityType);
    group.setAttribute('data-cat', paint.category);
    group.classList.add('node');
    paintNode(group, paint);
    return group;
  }

  override drawConnection(group: SVGElement, connection: unknown): SVGElement {
    const { id, waypoints } = connection as DjsElement;
    group.classList.add('edge');
    paintEdge(group, waypoints ?? [], this.paints.edge(id));
    return group;
  }

  override getShapePath(shape: unknown): string {
    const { x, y } = shape as DjsElement;
    return `M${x} ${y}h${NODE_WIDTH}v${NODE_HEIGHT}h${-NODE_WIDTH}Z`;
  }

  override getConnectionPath(connection: unknown): string {
    const points = (connection as DjsElement).waypoints ?? [];
    return points.map(({ x, y }, i) => `${i === 0 ? 'M' : 'L'}${x} ${y}`).join('');
  }
}
