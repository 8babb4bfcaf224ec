/** What a person can do to the document, by pointer, key or button. Each ends in one step of the history. */

import { labelWidth } from '../canvas/paint';
import { copy, paste, readClip } from '../model/clipboard';
import {
  keysOf,
  type NodeDoc,
  nodeName,
  nodeOf,
  text,
  transitionElement,
  transitionKeyOf,
  transitionOf,
} from '../model/definition';
import { shortLabel } from '../model/describe';
import * as edits from '../model/edits';
import type { Point } from '../model/geometry';
import { mayAdd, mayConnect, mayInsert, mayLeave } from '../model/rules';
import { sceneOf } from '../model/scene';
import { along, type Direction, freePlaceAfter } from '../model/walk';
import { arrangeAway } from './arranging';
import type { Session } from './session';

/** What the actions need of the canvas. */
export interface Stage {
  selected(): readonly string[];
  select(elements: readonly string[], focus?: boolean): void;
  reveal(element: string): void;
  readonly middle: Point;
}

const COPY_BESIDE = 30;

export class Actions {
  constructor(
    private readonly session: Session,
    private readonly stage: () => Stage,
  ) {}

  private get doc() {
    return this.session.doc;
  }

  private title(activityType: string): string {
    return this.session.activities.look(activityType).title;
  }

  private wanted(activityType: string, at: Point): edits.NewNode {
    const members = activityType === 'Http' ? { background: true } : {};
    return { activityType, name: this.title(activityType), at, members };
  }

  private node(activityType: string, at: Point): NodeDoc {
    return edits.newNode(this.doc, this.wanted(activityType, at));
  }

  private step(name: string, args: Readonly<Record<string, string>> = {}): string {
    return this.session.t(`designer.step.${name}`, args);
  }

  /** Adds a node at a place; on a transition it goes between that one's ends. Answers the node. */
  addAt(activityType: string, at: Point, onto?: string): string | undefined {
    if (!mayAdd(this.doc, activityType)) return undefined;
    const label = this.step('add', { name: this.title(activityType) });
    const into = onto === undefined ? undefined : edits.addInto(this.doc, onto, this.wanted(activityType, at));
    if (into) return this.session.execute(label, into.ops) ? into.id : undefined;
    const node = this.node(activityType, at);
    return this.session.execute(label, edits.addNode(this.doc, node)) ? node.id : undefined;
  }

  placeBeside(node: string): Point {
    return freePlaceAfter(this.doc, node);
  }

  /** Adds a node behind what is selected: joined to it where it leads on, into the line where one is selected. */
  addAfter(activityType: string): void {
    const stage = this.stage();
    const [element] = stage.selected();
    const transition = element === undefined ? undefined : transitionKeyOf(element);
    if (transition !== undefined && mayInsert(activityType, this.session.activities.modes)) {
      this.addInto(activityType, transition);
      return;
    }
    const from = element === undefined ? undefined : nodeOf(this.doc, element);
    const joined = element !== undefined && from && mayLeave(this.doc, element, this.session.activities.modes);
    const at =
      joined || this.doc.nodes.length > 0 ? freePlaceAfter(this.doc, element ?? this.lastNode()) : stage.middle;
    const node = this.node(activityType, at);
    const ops = edits.addNode(this.doc, node);
    if (joined && activityType !== 'Start') {
      ops.push(...edits.addTransition(this.doc, edits.newTransition(this.doc, from.id, node.id)));
    }
    if (!this.session.execute(this.step('add', { name: this.title(activityType) }), ops)) return;
    this.show(node.id);
    this.session.say(this.session.t('designer.said.added', { name: nodeName(node) }));
  }

  private lastNode(): string | undefined {
    return [...sceneOf(this.doc).nodes.keys()].at(-1);
  }

  private addInto(activityType: string, transition: string): void {
    const scene = sceneOf(this.doc);
    const edge = scene.edges.get(transition);
    const from = edge && scene.nodes.get(edge.source)?.rect;
    const added = this.addAt(activityType, from ? { x: from.x, y: from.y } : this.stage().middle, transition);
    if (added !== undefined) this.show(added);
  }

  private show(element: string): void {
    const stage = this.stage();
    stage.select([element], true);
    stage.reveal(element);
  }

  connect(source: string, target: string): string | undefined {
    if (!mayConnect(this.doc, source, target, this.session.activities.modes)) return undefined;
    const before = this.doc.transitions.length;
    this.session.execute(this.step('connect'), edits.connect(this.doc, source, target));
    const made = this.doc.transitions[before];
    return made && transitionElement(made.id);
  }

  move(nodes: readonly string[], by: Point, onto?: string, merge?: string): void {
    const [only] = nodes;
    const node = only === undefined ? undefined : nodeOf(this.doc, only);
    const ops = edits.moveNodes(this.doc, nodes, by);
    if (onto !== undefined && node) ops.push(...edits.insertInto(this.doc, onto, node.id));
    this.session.execute(this.step('move'), ops, merge);
  }

  bend(transition: string, points: readonly Point[]): void {
    this.session.execute(this.step('bend'), edits.setLine(this.doc, transition, points));
  }

  reconnect(transition: string, end: 'source' | 'target', node: string): void {
    this.session.execute(this.step('connect'), edits.reconnect(this.doc, transition, end, node));
  }

  removeSelected(): void {
    const stage = this.stage();
    const elements = stage.selected();
    if (elements.length === 0) return;
    // The keyboard goes on where the flow came from.
    const [first = ''] = elements;
    const previous = along(this.doc, first, 'left');
    const next = previous && transitionKeyOf(previous) !== undefined ? along(this.doc, previous, 'left') : previous;
    if (!this.session.execute(this.step('delete'), edits.remove(this.doc, elements))) return;
    this.session.say(this.session.t('designer.said.deleted', { count: elements.length }));
    stage.select(next !== undefined && nodeOf(this.doc, next) ? [next] : [], true);
  }

  /** The selected nodes as text for the clipboard. */
  copySelected(): string | undefined {
    return copy(this.doc, this.stage().selected());
  }

  pasteText(source: string, at: Point | undefined): boolean {
    const clip = readClip(source);
    if (!clip) return false;
    const corner = at ?? this.beside();
    const { ops, nodeKeys } = paste(this.doc, clip, corner);
    if (!this.session.execute(this.step('paste'), ops)) return false;
    this.stage().select(nodeKeys, true);
    return true;
  }

  private beside(): Point {
    const rects = this.stage()
      .selected()
      .flatMap((element) => sceneOf(this.doc).nodes.get(element)?.rect ?? []);
    if (rects.length === 0) return this.stage().middle;
    return {
      x: Math.min(...rects.map((rect) => rect.x)) + COPY_BESIDE,
      y: Math.min(...rects.map((rect) => rect.y)) + COPY_BESIDE * 2,
    };
  }

  duplicate(): void {
    const clip = this.copySelected();
    if (clip) this.pasteText(clip, this.beside());
  }

  swap(key: string, activityType: string): void {
    const known = this.session.activities.get(activityType)?.properties.map(({ name }) => name) ?? [];
    const node = nodeOf(this.doc, key);
    const ops = edits.swapActivity(this.doc, key, activityType, known);
    // A name that only repeated the old activity says the wrong thing afterwards.
    if (node && text(node.name) === this.title(node.activityType)) {
      const [op] = ops;
      if (op?.op === 'replace') {
        this.session.execute(this.step('swap'), [{ ...op, item: { ...op.item, name: this.title(activityType) } }]);
        return;
      }
    }
    this.session.execute(this.step('swap'), ops);
  }

  /** Arranges everything; what was changed meanwhile keeps the old places. */
  async arrangeAll(): Promise<void> {
    const { words, layoutWorker } = this.session;
    const { doc } = this;
    const widths = Object.fromEntries(
      keysOf(doc.transitions).map((key) => {
        const transition = transitionOf(doc, key);
        return [key, transition ? labelWidth(shortLabel(transition, words), transition.isDefault === true) : 0];
      }),
    );
    const arranged = await arrangeAway(doc, widths, layoutWorker);
    if (this.doc === doc) this.session.execute(this.step('arrange'), edits.place(doc, arranged));
  }

  selectAll(): void {
    this.stage().select([...sceneOf(this.doc).nodes.keys()]);
  }

  nudge(by: Point): boolean {
    const nodes = this.stage()
      .selected()
      .filter((element) => nodeOf(this.doc, element));
    if (nodes.length === 0) return false;
    this.move(nodes, by, undefined, `nudge ${nodes.join(' ')}`);
    return true;
  }

  walk(direction: Direction): void {
    const [from = ''] = this.stage().selected();
    const to = along(this.doc, from, direction);
    if (to !== undefined) this.show(to);
  }
}
