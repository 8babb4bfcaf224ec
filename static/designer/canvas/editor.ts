/** The canvas of the designer: shows a document, reports gestures as changes, keeps selection and view. */
import { transitionElement, transitionKeyOf } from '../model/definition';
import { bounds, centre, NODE_HEIGHT, NODE_WIDTH, overlaps, type Point, type Rect } from '../model/geometry';
import { compensationsOf, type Scene, type SceneEdge, type SceneNode } from '../model/scene';
import { bridgeServices, type Changes, type Permissions } from './bridge';
import {
  type Canvas,
  createDiagram,
  type DjsElement,
  type Drag,
  type EventBus,
  type Factory,
  type Gestures,
  type Registry,
  type Selection,
} from './djs';
import { arrowHeads, paintCompensations } from './paint';
import { Panning } from './panning';
import { type Paints, Renderer } from './renderer';
import { SelectionBehavior } from './selecting';

export interface EditorHost {
  readonly changes: Changes;
  readonly may: Permissions;
  readonly paints: Paints;
  readonly label: string;
  /** One sentence for a node or transition, for screen readers. */
  sentence(element: string): string;
  /** Full text of what is shortened, as a tooltip. */
  tooltip(element: string): string;
  onSelection(elements: readonly string[]): void;
  onViewbox(): void;
  onOpen(element: string): void;
}

const EMPTY: Scene = {
  nodes: new Map(),
  edges: new Map(),
  outgoing: new Map(),
  incoming: new Map(),
  filled: undefined,
};
const ZOOM = { least: 0.2, most: 2.5, step: 1.2, readable: 0.7 };

/** Writes only what differs: with a thousand elements each needless write costs. */
function put(element: Element, name: string, value: string): void {
  if (element.getAttribute(name) !== value) element.setAttribute(name, value);
}

function samePoints(a: readonly Point[] | undefined, b: readonly Point[]): boolean {
  return a?.length === b.length && a.every((point, i) => point.x === b[i]?.x && point.y === b[i]?.y);
}

/** Where nodes stood or stand that came, went or moved. */
function movedRects(before: Scene, after: Scene): readonly Rect[] {
  const moved: Rect[] = [];
  for (const [key, { rect }] of after.nodes) {
    const old = before.nodes.get(key)?.rect;
    if (old?.x === rect.x && old.y === rect.y) continue;
    moved.push(rect);
    if (old) moved.push(old);
  }
  for (const [key, { rect }] of before.nodes) if (!after.nodes.has(key)) moved.push(rect);
  return moved;
}

function touches({ points }: SceneEdge, rects: readonly Rect[]): boolean {
  if (rects.length === 0) return false;
  const all = bounds(points.map((point) => ({ ...point, width: 0, height: 0 })));
  return all !== undefined && rects.some((rect) => overlaps(rect, all, NODE_HEIGHT));
}

export class Editor {
  private readonly canvas: Canvas;
  private readonly registry: Registry;
  private readonly selection: Selection;
  private readonly events: EventBus;
  private readonly factory: Factory;
  private readonly drag: Drag;
  private readonly gestures: Gestures;
  readonly panning: Panning;
  private scene: Scene = EMPTY;
  private quiet = false;
  private waiting: (() => void) | undefined;

  constructor(
    container: HTMLElement,
    private readonly host: EditorHost,
  ) {
    const services = {
      ...bridgeServices(host.changes, host.may, (id) => this.registry.get(id)),
      paints: ['value', host.paints] as const,
      renderer: ['type', Renderer] as const,
      selectionBehavior: ['type', SelectionBehavior] as const,
    };
    const diagram = createDiagram(container, services, ['renderer']);
    const get = <T>(name: string): T => diagram.get(name as never) as T;
    this.canvas = get('canvas');
    this.registry = get('elementRegistry');
    this.selection = get('selection');
    this.events = get('eventBus');
    this.factory = get('elementFactory');
    this.drag = get('dragging');
    this.gestures = { create: get('create'), connect: get('connect'), lasso: get('lassoTool') };
    this.panning = new Panning(this.canvas, (event) => {
      this.picture.focus({ preventScroll: true });
      this.gestures.lasso.activateLasso(event);
    });
    this.prepare();
  }

  private get picture(): SVGSVGElement {
    return this.canvas.getContainer().querySelector('svg') as SVGSVGElement;
  }

  private prepare(): void {
    const { picture } = this;
    picture.prepend(arrowHeads());
    picture.setAttribute('role', 'group');
    picture.setAttribute('aria-label', this.host.label);
    this.events.on(['selection.changed', 'drag.ended', 'drag.canceled'], () => this.reportSelection());
    this.events.on(['drag.ended', 'drag.canceled'], () => {
      const { waiting } = this;
      this.waiting = undefined;
      waiting?.();
      // A gesture that was broken off may leave a line as its preview had it.
      this.show(this.scene);
    });
    this.events.on('canvas.viewbox.changed', () => this.host.onViewbox());
    this.events.on('element.dblclick', ({ element }) => {
      if (element.parent) this.host.onOpen(element.id);
    });
    this.events.on(['create.start', 'shape.move.start'], 2000, ({ context }) => {
      // Nodes snap with their corner to the grid, not with their middle.
      context.gridSnappingContext = { snapLocation: 'top-left' };
    });
    // A press selects by its click: selecting while it lasts would draw the line anew under the pointer, and the click
    // would then belong to the canvas.
    picture.addEventListener('pointerdown', () => (this.pressed = true), true);
    for (const end of ['pointerup', 'pointercancel']) {
      window.addEventListener(end, () => (this.pressed = false), true);
    }
    // The ring round the canvas is for the keyboard; clicking into it must not draw it.
    const container = this.canvas.getContainer();
    container.addEventListener('pointerdown', () => container.classList.add('by-pointer'), true);
    document.addEventListener('keydown', () => container.classList.remove('by-pointer'), true);
    picture.addEventListener('focusin', ({ target }) => {
      if (this.pressed) return;
      const id = (target as Element).closest('.djs-element')?.getAttribute('data-element-id');
      if (id && !this.isSelected(id) && this.selection.get().length < 2 && !this.dragging) this.select([id]);
    });
  }

  /** True while a gesture is under way: the selection is then empty for a moment. */
  get dragging(): boolean {
    return this.drag.context()?.active === true;
  }

  private pressed = false;

  /** Does something now, or after the gesture that is under way: redrawing would break off the drag of a new node. */
  whenIdle(task: () => void): void {
    if (this.dragging) this.waiting = task;
    else task();
  }

  private reportSelection(): void {
    if (this.dragging || this.quiet) return;
    this.roveTo(this.selected()[0]);
    this.host.onSelection(this.selected());
  }

  selected(): readonly string[] {
    return this.selection.get().map(({ id }) => id);
  }

  isSelected(id: string): boolean {
    return this.selection.get().some((element) => element.id === id);
  }

  select(ids: readonly string[], focus = false): void {
    const elements = ids.flatMap((id) => this.registry.get(id) ?? []);
    this.selection.select(elements.length > 0 ? elements : null);
    const [first] = ids;
    if (focus && first !== undefined) this.focus(first);
  }

  /** Puts the keyboard on an element, or on the canvas when it is gone. */
  focus(id?: string): void {
    const graphics = id === undefined ? undefined : this.registry.getGraphics(id);
    (graphics ?? this.picture).focus({ preventScroll: true });
  }

  get hasFocus(): boolean {
    return this.canvas.getContainer().contains(document.activeElement);
  }

  /** One element at a time is in the tab order: the selected one, else the first. */
  private roveTo(id: string | undefined): void {
    const current = id ?? this.scene.nodes.keys().next().value;
    for (const { id: each, parent } of this.registry.getAll()) {
      const graphics = parent && this.registry.getGraphics(each);
      if (!graphics) continue;
      put(graphics, 'tabindex', each === current ? '0' : '-1');
      put(graphics, 'aria-pressed', String(this.isSelected(each)));
    }
    put(this.picture, 'tabindex', current === undefined ? '0' : '-1');
  }

  /** Shows a scene; `repaint` names elements whose look changed although the document says the same. */
  show(scene: Scene, repaint: ReadonlySet<string> | 'all' = new Set()): void {
    const before = this.scene;
    this.scene = scene;
    this.quiet = true;
    const kept = this.selected();
    this.removeGone(before, scene);
    const changed: DjsElement[] = [];
    for (const node of scene.nodes.values()) this.showNode(node, before, repaint, changed);
    const moves = movedRects(before, scene);
    for (const edge of scene.edges.values()) this.showEdge(edge, before, repaint, moves, changed);
    if (changed.length > 0) this.events.fire('elements.changed', { elements: changed });
    paintCompensations(this.canvas.getLayer('compensations', -1), compensationsOf(scene));
    this.quiet = false;
    this.label();
    if (kept.length !== this.selected().length) this.reportSelection();
    else this.roveTo(this.selected()[0]);
  }

  private removeGone(before: Scene, scene: Scene): void {
    for (const old of before.edges.values()) {
      const edge = scene.edges.get(old.key);
      const moved = edge && (edge.source !== old.source || edge.target !== old.target);
      if (!edge || moved) this.canvas.removeConnection(transitionElement(old.key));
    }
    for (const key of before.nodes.keys()) if (!scene.nodes.has(key)) this.canvas.removeShape(key);
  }

  private showNode(node: SceneNode, before: Scene, repaint: ReadonlySet<string> | 'all', changed: DjsElement[]): void {
    const { key, rect } = node;
    const shape = this.registry.get(key);
    if (!shape) {
      const made = this.factory.createShape({ id: key, ...rect });
      this.canvas.addShape(made, this.canvas.getRootElement());
      return;
    }
    const moved = shape.x !== rect.x || shape.y !== rect.y;
    shape.x = rect.x;
    shape.y = rect.y;
    const other = before.nodes.get(key)?.node !== node.node;
    if (moved || other || repaint === 'all' || repaint.has(key)) changed.push(shape);
  }

  private showEdge(
    edge: SceneEdge,
    before: Scene,
    repaint: ReadonlySet<string> | 'all',
    moves: readonly Rect[],
    changed: DjsElement[],
  ): void {
    const id = transitionElement(edge.key);
    const connection = this.registry.get(id);
    const waypoints = edge.points.map(({ x, y }) => ({ x, y }));
    if (!connection) {
      const source = this.registry.get(edge.source);
      const target = this.registry.get(edge.target);
      const made = this.factory.createConnection({ id, waypoints, source, target });
      // Lines lie below nodes.
      this.canvas.addConnection(made, this.canvas.getRootElement(), 0);
      return;
    }
    // A node that came to lie on the line, or left it, moves the line's label.
    const moved = !samePoints(connection.waypoints, edge.points) || touches(edge, moves);
    connection.waypoints = waypoints;
    const other = before.edges.get(edge.key)?.transition !== edge.transition;
    if (moved || other || repaint === 'all' || repaint.has(id)) changed.push(connection);
  }

  /** Says for readers what each element is. */
  private label(): void {
    for (const { id, parent } of this.registry.getAll()) {
      const graphics = parent && this.registry.getGraphics(id);
      if (!graphics) continue;
      put(graphics, 'role', 'button');
      put(graphics, 'aria-label', this.host.sentence(id));
      const tooltip = this.host.tooltip(id);
      let title = graphics.querySelector(':scope > title');
      if (!tooltip) {
        title?.remove();
        continue;
      }
      if (!title) {
        title = document.createElementNS('http://www.w3.org/2000/svg', 'title');
        // diagram-js draws into the first child: nothing may stand before it.
        graphics.append(title);
      }
      if (title.textContent !== tooltip) title.textContent = tooltip;
    }
  }

  /** Begins to drag a new node in; the pointer is down on the palette. */
  startAdding(event: MouseEvent, activityType: string): void {
    this.gestures.create.start(
      event,
      this.factory.createShape({ width: NODE_WIDTH, height: NODE_HEIGHT, activityType }),
    );
  }

  /** Begins to draw a transition: to be ended by a click, or by letting go when the button is down. */
  startConnecting(event: MouseEvent, key: string): void {
    const node = this.registry.get(key);
    if (node) this.gestures.connect.start(event, node, true);
  }

  cancelGesture(): void {
    this.drag.cancel();
  }

  get viewbox(): Rect {
    return this.canvas.viewbox();
  }

  get scale(): number {
    return this.canvas.zoom();
  }

  zoomBy(steps: number): void {
    const scale = this.canvas.zoom() * ZOOM.step ** steps;
    this.canvas.zoom(Math.min(ZOOM.most, Math.max(ZOOM.least, scale)), 'auto');
  }

  /** The view to begin with: everything where it can be read, else the beginning of the flow. */
  home(start: string | undefined): void {
    this.fit();
    const rect = start === undefined ? undefined : this.scene.nodes.get(start)?.rect;
    if (this.scale >= ZOOM.readable || !rect) return;
    const { outer } = this.canvas.viewbox();
    const width = outer.width / ZOOM.readable;
    const height = outer.height / ZOOM.readable;
    this.canvas.viewbox({ x: rect.x - 64, y: centre(rect).y - height / 2, width, height });
  }

  /** Shows the whole diagram, never larger than it is drawn. */
  fit(): void {
    const all = bounds([
      ...[...this.scene.nodes.values()].map(({ rect }) => rect),
      ...[...this.scene.edges.values()].flatMap(({ points }) =>
        points.map((point) => ({ ...point, width: 0, height: 0 })),
      ),
    ]);
    const { outer } = this.canvas.viewbox();
    if (!all || outer.width === 0) return;
    const margin = 48;
    const scale = Math.max(
      ZOOM.least,
      Math.min(1, outer.width / (all.width + 2 * margin), outer.height / (all.height + 2 * margin)),
    );
    const middle = centre(all);
    const width = outer.width / scale;
    const height = outer.height / scale;
    this.canvas.viewbox({ x: middle.x - width / 2, y: middle.y - height / 2, width, height });
  }

  centreOn(point: Point): void {
    const { width, height } = this.canvas.viewbox();
    this.canvas.viewbox({ x: point.x - width / 2, y: point.y - height / 2, width, height });
  }

  /** Brings an element into view when it isn't, by moving no further than needed. */
  reveal(id: string): void {
    const box = this.boxOf(id);
    if (!box) return;
    const view = this.canvas.viewbox();
    const margin = Math.min(56 / view.scale, view.width / 4, view.height / 4);
    const past = (from: number, size: number, start: number, room: number) =>
      from - margin < start ? from - margin - start : Math.max(0, from + size + margin - (start + room));
    const x = past(box.x, box.width, view.x, view.width);
    const y = past(box.y, box.height, view.y, view.height);
    if (x !== 0 || y !== 0) this.canvas.scroll({ dx: -x * view.scale, dy: -y * view.scale });
  }

  private boxOf(id: string): Rect | undefined {
    const key = transitionKeyOf(id);
    if (key === undefined) return this.scene.nodes.get(id)?.rect;
    return bounds((this.scene.edges.get(key)?.points ?? []).map((point) => ({ ...point, width: 0, height: 0 })));
  }

  /** Where an element (or the selection) lies in the container, in pixels of the screen. */
  screenBox(ids: readonly string[]): Rect | undefined {
    const box = bounds(ids.flatMap((id) => this.boxOf(id) ?? []));
    if (!box) return undefined;
    const { x, y, scale } = this.canvas.viewbox();
    return {
      x: (box.x - x) * scale,
      y: (box.y - y) * scale,
      width: box.width * scale,
      height: box.height * scale,
    };
  }

  /** The middle of what is visible, as a place in the document. */
  get middle(): Point {
    return centre(this.canvas.viewbox());
  }

  resized(): void {
    this.canvas.resized();
  }
}
