/** What diagram-js asks of its host: rules, and changes. Both go to our document; it never changes its own. */

import { transitionKeyOf } from '../model/definition';
import type { Point, Rect } from '../model/geometry';
import { route } from '../model/geometry';
import type { DjsElement, Service } from './djs';

/** Changes that a gesture ends in; each answers what is selected afterwards. */
export interface Changes {
  /** `onto` is the transition it goes into, `beside` the node it was dropped on. */
  add(activityType: string, at: Point, onto: string | undefined, beside: string | undefined): string | undefined;
  connect(source: string, target: string): string | undefined;
  move(nodes: readonly string[], by: Point, onto: string | undefined): void;
  bend(transition: string, points: readonly Point[]): void;
  reconnect(transition: string, end: 'source' | 'target', node: string): void;
}

export interface Permissions {
  readOnly(): boolean;
  add(activityType: string): boolean;
  insert(activityType: string): boolean;
  dropOn(node: string, transition: string): boolean;
  connect(source: string, target: string): boolean;
}

interface RuleContext {
  readonly shape?: DjsElement;
  readonly shapes?: readonly DjsElement[];
  readonly source?: DjsElement;
  readonly target?: DjsElement;
  readonly connection?: DjsElement;
}

function isRoot(element: DjsElement): boolean {
  return !element.parent;
}

function isNode(element: DjsElement | undefined): element is DjsElement {
  return element !== undefined && !isRoot(element) && !element.waypoints;
}

type Rule = (context: RuleContext, may: Permissions) => boolean | null;

const RULES: Readonly<Record<string, Rule>> = {
  'shape.attach': () => false,
  'shape.resize': () => false,
  'shape.create': ({ shape, target }, may) => {
    const type = shape?.activityType ?? '';
    if (!target || !may.add(type)) return false;
    // Dropped on a node it goes beside it; on a line it goes in between.
    return !target.waypoints || may.insert(type);
  },
  'elements.create': () => false,
  'elements.move': ({ shapes = [], target }, may) => {
    if (!target || isRoot(target)) return true;
    const only = shapes.length === 1 ? shapes[0] : undefined;
    const transition = transitionKeyOf(target.id);
    // Over a line that it cannot go into, a node is simply moved; on top of another node it would hide it.
    if (transition !== undefined) return only ? may.dropOn(only.id, transition) || null : null;
    return shapes.includes(target);
  },
  'connection.create': ({ source, target }, may) =>
    isNode(source) && isNode(target) ? may.connect(source.id, target.id) : null,
  'connection.reconnect': ({ source, target }, may) =>
    isNode(source) && isNode(target) ? may.connect(source.id, target.id) : null,
  'connection.updateWaypoints': () => true,
};

function rules(may: Permissions) {
  return {
    allowed(action: string, context: RuleContext): boolean | null {
      if (may.readOnly()) return false;
      return RULES[action]?.(context, may) ?? (action in RULES ? null : false);
    },
  };
}

function onto(target: DjsElement | undefined): string | undefined {
  return target && transitionKeyOf(target.id);
}

function modeling(change: Changes, get: (id: string) => DjsElement | undefined) {
  return {
    createElements(elements: readonly DjsElement[], at: Point, target: DjsElement): DjsElement[] {
      const [shape] = elements;
      if (!shape?.activityType) return [];
      const corner = { x: at.x - shape.width / 2, y: at.y - shape.height / 2 };
      const id = change.add(shape.activityType, corner, onto(target), isNode(target) ? target.id : undefined);
      const made = id === undefined ? undefined : get(id);
      return made ? [made] : [];
    },
    moveElements(shapes: readonly DjsElement[], by: Point, target: DjsElement | undefined): void {
      const nodes = shapes.filter(isNode).map(({ id }) => id);
      change.move(nodes, { x: by.x, y: by.y }, onto(target));
    },
    connect(source: DjsElement, target: DjsElement): DjsElement | undefined {
      const id = change.connect(source.id, target.id);
      return id === undefined ? undefined : get(id);
    },
    updateWaypoints(connection: DjsElement, points: readonly Point[]): void {
      change.bend(transitionKeyOf(connection.id) ?? '', points);
    },
    reconnect(connection: DjsElement, source: DjsElement, target: DjsElement): void {
      const key = transitionKeyOf(connection.id) ?? '';
      if (source !== connection.source) change.reconnect(key, 'source', source.id);
      else if (target !== connection.target) change.reconnect(key, 'target', target.id);
    },
  };
}

/** The line while it is drawn: as it will lie, or straight to the pointer. */
function layouter() {
  return {
    layoutConnection(
      _connection: unknown,
      hints: {
        readonly source?: Rect;
        readonly target?: Rect;
        readonly connectionStart?: Point;
        readonly connectionEnd?: Point;
      },
    ): readonly Point[] {
      const { source, target, connectionStart, connectionEnd } = hints;
      if (source && target) return route(source, target);
      return [connectionStart ?? { x: 0, y: 0 }, connectionEnd ?? { x: 0, y: 0 }];
    },
  };
}

export function bridgeServices(
  change: Changes,
  may: Permissions,
  get: (id: string) => DjsElement | undefined,
): Readonly<Record<string, Service>> {
  return {
    rules: ['value', rules(may)],
    modeling: ['value', modeling(change, get)],
    layouter: ['value', layouter()],
  };
}
