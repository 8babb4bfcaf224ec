/** Rectangles and orthogonal lines: where a transition leaves, turns and arrives. No DOM. */
export interface Point {
  readonly x: number;
  readonly y: number;
}

export interface Rect extends Point {
  readonly width: number;
  readonly height: number;
}

export const NODE_WIDTH = 172;
export const NODE_HEIGHT = 56;
/** Canvas grid: dots every 20, things snap to 10. */
export const GRID = 10;
/** How far a line runs straight out of a node before it turns. */
const STUB = 24;
/** Lines of a loop back dock this far beside the middle, so that they don't lie on the line forward. */
const BESIDE = 16;

export function nodeRect(x: number, y: number): Rect {
  return { x, y, width: NODE_WIDTH, height: NODE_HEIGHT };
}

export function centre(rect: Rect): Point {
  return { x: rect.x + rect.width / 2, y: rect.y + rect.height / 2 };
}

export function snap(value: number, grid = GRID): number {
  return Math.round(value / grid) * grid;
}

/** Smallest rectangle around all; undefined for none. */
export function bounds(rects: readonly Rect[]): Rect | undefined {
  if (rects.length === 0) return undefined;
  const x = Math.min(...rects.map((r) => r.x));
  const y = Math.min(...rects.map((r) => r.y));
  const right = Math.max(...rects.map((r) => r.x + r.width));
  const bottom = Math.max(...rects.map((r) => r.y + r.height));
  return { x, y, width: right - x, height: bottom - y };
}

export function contains(rect: Rect, point: Point, margin = 0): boolean {
  return (
    point.x > rect.x - margin &&
    point.x < rect.x + rect.width + margin &&
    point.y > rect.y - margin &&
    point.y < rect.y + rect.height + margin
  );
}

export function overlaps(a: Rect, b: Rect, margin = 0): boolean {
  return (
    a.x < b.x + b.width + margin &&
    b.x < a.x + a.width + margin &&
    a.y < b.y + b.height + margin &&
    b.y < a.y + a.height + margin
  );
}

function same(a: Point | undefined, b: Point): boolean {
  return a !== undefined && a.x === b.x && a.y === b.y;
}

/** Without doubled points, without points in the middle of a straight line, and without ways there and back. */
export function simplify(points: readonly Point[]): readonly Point[] {
  const out: Point[] = [];
  for (const point of points) {
    if (same(out.at(-1), point)) continue;
    const before = out.at(-2);
    const last = out.at(-1);
    const straight =
      last && before && ((before.x === last.x && last.x === point.x) || (before.y === last.y && last.y === point.y));
    if (straight) out.pop();
    if (!same(out.at(-1), point)) out.push(point);
  }
  return out;
}

export function isOrthogonal(points: readonly Point[]): boolean {
  return points.every((point, i) => {
    const next = points[i + 1];
    return !next || next.x === point.x || next.y === point.y;
  });
}

/** Route forward, to the right: out of the right side, one turn near the source, into the left side. */
function toTheRight(source: Rect, target: Rect, shift: number): readonly Point[] {
  const from = { x: source.x + source.width, y: centre(source).y + shift };
  const to = { x: target.x, y: centre(target).y + shift };
  const turn = Math.min(from.x + STUB, (from.x + to.x) / 2) + Math.abs(shift) / 2;
  return [from, { x: turn, y: from.y }, { x: turn, y: to.y }, to];
}

/** Route up or down: in the middle, and upwards beside the way down where there is one. */
function vertical(source: Rect, target: Rect, lane: number, facing: boolean): readonly Point[] {
  const down = target.y > source.y;
  const shift = lane + (facing && !down ? BESIDE : 0);
  const from = { x: centre(source).x + shift, y: down ? source.y + source.height : source.y };
  const to = { x: centre(target).x + shift, y: down ? target.y : target.y + target.height };
  const turn = (from.y + to.y) / 2;
  return [from, { x: from.x, y: turn }, { x: to.x, y: turn }, to];
}

/** Route back, to the left: straight between the facing sides when there is room, beside the way forward. */
function toTheLeft(source: Rect, target: Rect, shift: number): readonly Point[] {
  const beside = BESIDE + shift;
  const from = { x: source.x, y: centre(source).y + beside };
  const to = { x: target.x + target.width, y: centre(target).y + beside };
  const turn = Math.max(from.x - STUB, (from.x + to.x) / 2);
  return [from, { x: turn, y: from.y }, { x: turn, y: to.y }, to];
}

function aroundItself(rect: Rect, shift: number): readonly Point[] {
  const right = rect.x + rect.width;
  const top = rect.y - STUB - shift;
  const middle = centre(rect);
  return [
    { x: right, y: middle.y },
    { x: right + STUB + shift, y: middle.y },
    { x: right + STUB + shift, y: top },
    { x: middle.x, y: top },
    { x: middle.x, y: rect.y },
  ];
}

/** Under both when they lie so close that no side has room. */
function around(source: Rect, target: Rect, shift: number): readonly Point[] {
  const bottom = Math.max(source.y + source.height, target.y + target.height) + STUB + shift;
  const from = centre(source);
  const to = centre(target);
  return [
    { x: from.x, y: source.y + source.height },
    { x: from.x, y: bottom },
    { x: to.x, y: bottom },
    { x: to.x, y: target.y + target.height },
  ];
}

const ROOM = 20;

/**
 * An orthogonal line between two nodes, as if nothing else were there. `lane` sets lines between the same two apart,
 * `facing` says that another one leads the other way.
 */
export function route(source: Rect, target: Rect, lane = 0, facing = false): readonly Point[] {
  const shift = lane === 0 ? 0 : (lane % 2 === 1 ? 1 : -1) * Math.ceil(lane / 2) * 10;
  const same = source.x === target.x && source.y === target.y;
  const right = target.x - (source.x + source.width);
  const left = source.x - (target.x + target.width);
  const apart = Math.max(target.y - source.y - source.height, source.y - target.y - target.height);
  let points: readonly Point[];
  if (same) points = aroundItself(source, Math.abs(shift));
  else if (right >= ROOM) points = toTheRight(source, target, shift);
  else if (apart >= ROOM) points = vertical(source, target, shift, facing);
  else if (left >= ROOM) points = toTheLeft(source, target, shift);
  else points = around(source, target, Math.abs(shift));
  return simplify(points);
}

function within(value: number, from: number, size: number): boolean {
  return value > from && value < from + size;
}

/** Where the line from the node to its first bend leaves, with the corner it may need on the way. */
function dock(rect: Rect, bend: Point): readonly Point[] {
  const middle = centre(rect);
  if (within(bend.y, rect.y, rect.height)) {
    return [{ x: bend.x > middle.x ? rect.x + rect.width : rect.x, y: bend.y }];
  }
  if (within(bend.x, rect.x, rect.width)) {
    return [{ x: bend.x, y: bend.y > middle.y ? rect.y + rect.height : rect.y }];
  }
  const side = bend.x > middle.x ? rect.x + rect.width : rect.x;
  return [
    { x: side, y: middle.y },
    { x: bend.x, y: middle.y },
  ];
}

/** The line over bends that a person or the layout set; falls back to `route` when the bends lie inside an end. */
export function routeVia(source: Rect, target: Rect, bends: readonly Point[], lane = 0): readonly Point[] {
  const first = bends[0];
  const last = bends.at(-1);
  if (!first || !last || contains(source, first) || contains(target, last)) return route(source, target, lane);
  const middle: Point[] = [];
  for (const bend of bends) {
    const before = middle.at(-1);
    if (before && before.x !== bend.x && before.y !== bend.y) middle.push({ x: bend.x, y: before.y });
    middle.push(bend);
  }
  return simplify([...dock(source, first), ...middle, ...[...dock(target, last)].reverse()]);
}

/** The bends of a line: what lies between its two ends. */
export function bendsOf(points: readonly Point[]): readonly Point[] {
  return simplify(points).slice(1, -1);
}

/**
 * Bends after one end moved: the bend beside it goes along, so that the line keeps its shape.
 * With both ends moved all bends go along.
 */
export function followBends(
  bends: readonly Point[],
  moved: { readonly source: boolean; readonly target: boolean },
  ends: { readonly source: Rect; readonly target: Rect },
  by: Point,
): readonly Point[] {
  if (moved.source && moved.target) return bends.map((bend) => ({ x: bend.x + by.x, y: bend.y + by.y }));
  const index = moved.source ? 0 : bends.length - 1;
  const bend = bends[index];
  if (!bend) return bends;
  const rect = moved.source ? ends.source : ends.target;
  const level = within(bend.y, rect.y, rect.height);
  const upright = !level && within(bend.x, rect.x, rect.width);
  const next = { x: bend.x + (upright ? by.x : 0), y: bend.y + (level ? by.y : 0) };
  return bends.map((each, i) => (i === index ? next : each));
}

/** The line as an SVG path with round corners. */
export function roundedPath(points: readonly Point[], radius = 8): string {
  const first = points[0];
  if (!first) return '';
  const parts = [`M${first.x} ${first.y}`];
  for (let i = 1; i < points.length; i += 1) {
    const at = points[i] as Point;
    const before = points[i - 1] as Point;
    const after = points[i + 1];
    if (!after) {
      parts.push(`L${at.x} ${at.y}`);
      continue;
    }
    const r = Math.min(radius, distance(before, at) / 2, distance(at, after) / 2);
    const enter = towards(at, before, r);
    const leave = towards(at, after, r);
    parts.push(`L${enter.x} ${enter.y} Q${at.x} ${at.y} ${leave.x} ${leave.y}`);
  }
  return parts.join(' ');
}

export function distance(a: Point, b: Point): number {
  return Math.hypot(b.x - a.x, b.y - a.y);
}

function towards(from: Point, to: Point, by: number): Point {
  const length = distance(from, to) || 1;
  return { x: from.x + ((to.x - from.x) / length) * by, y: from.y + ((to.y - from.y) / length) * by };
}

const LABEL_HEIGHT = 22;
/** Steps in which a label looks for room along its line. */
const LABEL_STEP = 2 * GRID;
/** How far from its line a label may stand when there is no room on it. */
const LABEL_REACH = 12 * GRID;

/**
 * Where a label of this width sits: in the middle of the last level stretch that has room for it, because lines
 * from one node share their first stretch; else in the middle of the longest stretch. When a node stands there, at the
 * nearest place along the line, or else beside it, where none does.
 */
export function labelPoint(points: readonly Point[], width: number, nodes: readonly Rect[] = []): Point {
  const wanted = preferredLabelPoint(points, width);
  const free = ({ x, y }: Point): boolean => {
    const label = { x: x - width / 2, y: y - LABEL_HEIGHT / 2, width, height: LABEL_HEIGHT };
    return nodes.every((node) => !overlaps(node, label, 1));
  };
  if (free(wanted)) return wanted;
  const along = alongLine(points).sort((a, b) => distance(a, wanted) - distance(b, wanted));
  return along.find(free) ?? nearby(wanted).find(free) ?? wanted;
}

/** Places round a point, the nearest first: up to so far that the label is still seen to belong to its line. */
function nearby({ x, y }: Point): Point[] {
  const places: Point[] = [];
  for (let dy = -LABEL_REACH; dy <= LABEL_REACH; dy += GRID) {
    for (let dx = -LABEL_REACH; dx <= LABEL_REACH; dx += GRID) places.push({ x: x + dx, y: y + dy });
  }
  return places.sort((a, b) => distance(a, { x, y }) - distance(b, { x, y }));
}

function preferredLabelPoint(points: readonly Point[], width: number): Point {
  let longest: readonly [Point, Point] | undefined;
  for (let i = points.length - 1; i > 0; i -= 1) {
    const a = points[i - 1] as Point;
    const b = points[i] as Point;
    if (a.y === b.y && Math.abs(a.x - b.x) >= width + 8) return middleOf(a, b);
    if (!longest || distance(a, b) > distance(...longest)) longest = [a, b];
  }
  return longest ? middleOf(...longest) : (points[0] ?? { x: 0, y: 0 });
}

/** Places along a line, in steps. */
function alongLine(points: readonly Point[]): Point[] {
  const places: Point[] = [];
  for (let i = 1; i < points.length; i += 1) {
    const a = points[i - 1] as Point;
    const b = points[i] as Point;
    const length = distance(a, b);
    for (let at = LABEL_STEP; at < length; at += LABEL_STEP) places.push(towards(a, b, at));
  }
  return places;
}

function middleOf(a: Point, b: Point): Point {
  return { x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 };
}
