/** The parts of diagram-js that the editor stands on, and the few of its types that we touch. */
import Diagram from 'diagram-js';
import BendpointsModule from 'diagram-js/lib/features/bendpoints';
import ChangeSupportModule from 'diagram-js/lib/features/change-support';
import ConnectModule from 'diagram-js/lib/features/connect';
import ConnectionPreviewModule from 'diagram-js/lib/features/connection-preview';
import CreateModule from 'diagram-js/lib/features/create';
import GridSnapping from 'diagram-js/lib/features/grid-snapping/GridSnapping';
import LassoToolModule from 'diagram-js/lib/features/lasso-tool';
import MoveModule from 'diagram-js/lib/features/move';
import SelectionModule from 'diagram-js/lib/features/selection';
import SnappingModule from 'diagram-js/lib/features/snapping';
import ZoomScrollModule from 'diagram-js/lib/navigation/zoomscroll';
import type { Point, Rect } from '../model/geometry';

export interface DjsElement extends Rect {
  readonly id: string;
  x: number;
  y: number;
  readonly parent?: DjsElement;
  waypoints?: Point[];
  readonly source?: DjsElement;
  readonly target?: DjsElement;
  /** Activity of a node that is being dragged in from the palette. */
  readonly activityType?: string;
}

export interface DjsEvent {
  readonly element: DjsElement;
  readonly gfx: SVGGElement;
  readonly originalEvent?: MouseEvent;
  readonly context: Record<string, unknown>;
  readonly shape?: DjsElement;
  readonly oldSelection?: readonly DjsElement[];
  readonly newSelection?: readonly DjsElement[];
}

export interface EventBus {
  on(events: string | readonly string[], callback: (event: DjsEvent) => unknown): void;
  on(events: string | readonly string[], priority: number, callback: (event: DjsEvent) => unknown): void;
  fire(event: string, data?: unknown): unknown;
}

export interface Viewbox extends Rect {
  readonly scale: number;
  readonly inner: Rect;
  readonly outer: { readonly width: number; readonly height: number };
}

export interface Canvas {
  addShape(shape: DjsElement, parent?: DjsElement): DjsElement;
  addConnection(connection: DjsElement, parent?: DjsElement, index?: number): DjsElement;
  removeShape(shape: DjsElement | string): void;
  removeConnection(connection: DjsElement | string): void;
  getRootElement(): DjsElement;
  getGraphics(element: DjsElement | string): SVGGElement;
  getContainer(): HTMLElement;
  /** A group that moves with the view; one with a lower index lies below. */
  getLayer(name: string, index: number): SVGGElement;
  viewbox(box?: Rect): Viewbox;
  zoom(level?: number | 'fit-viewport', center?: Point | 'auto'): number;
  scroll(delta: { dx: number; dy: number }): void;
  resized(): void;
}

export interface Registry {
  get(id: string): DjsElement | undefined;
  getGraphics(element: DjsElement | string): SVGGElement | undefined;
  getAll(): readonly DjsElement[];
}

export interface Selection {
  get(): readonly DjsElement[];
  select(elements: readonly DjsElement[] | DjsElement | null, add?: boolean): void;
  deselect(element: DjsElement): void;
  isSelected(element: DjsElement): boolean;
}

export interface Factory {
  createShape(attributes: object): DjsElement;
  createConnection(attributes: object): DjsElement;
}

export interface Drag {
  context(): { readonly active?: boolean; readonly prefix: string } | null | undefined;
  cancel(): void;
}

export interface Gestures {
  readonly create: { start(event: MouseEvent, elements: DjsElement): void };
  readonly connect: { start(event: MouseEvent, start: DjsElement, autoActivate?: boolean): void };
  readonly lasso: { activateLasso(event: MouseEvent, autoActivate?: boolean): void };
}

export type Service = readonly ['value' | 'type', unknown];

/** Makes the diagram; services given later win over those of the modules before them. */
export function createDiagram(
  container: HTMLElement,
  services: Readonly<Record<string, Service>>,
  init: string[],
): Diagram {
  const gridSnapping = { __init__: ['gridSnapping'], gridSnapping: ['type', GridSnapping] };
  const own = { __init__: init, ...services };
  const modules = [
    SelectionModule,
    ChangeSupportModule,
    MoveModule,
    CreateModule,
    ConnectModule,
    ConnectionPreviewModule,
    BendpointsModule,
    LassoToolModule,
    SnappingModule,
    gridSnapping,
    ZoomScrollModule,
    own,
  ];
  // The module types of the injector are narrower than what it takes.
  return new Diagram({ canvas: { container }, modules: modules as never });
}

export type { Diagram };
