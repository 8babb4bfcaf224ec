/** The middle of the designer: canvas, tool bars, minimap, the bar over the selection, the list of steps to add. */
import { Editor, type EditorHost } from '../canvas/editor';
import { Minimap } from '../canvas/minimap';
import type { NodePaint } from '../canvas/paint';
import { nodeName, nodeOf, text, transitionElement, transitionKeyOf, transitionOf } from '../model/definition';
import {
  edgeSentence,
  nodeSentence,
  SUBTITLE_UNITS,
  shortLabel,
  subtitle,
  TITLE_UNITS,
  transitionLabel,
} from '../model/describe';
import { badges, type Problem } from '../model/problems';
import { mayAdd, mayConnect, mayDropOn, mayInsert, mayLeave } from '../model/rules';
import { sceneOf } from '../model/scene';
import { ellipse } from '../model/text';
import { Pad } from '../panels/pad';
import { Picker } from '../panels/picker';
import { html } from '../view/html';
import { iconButton } from '../view/icons';
import type { Actions } from './actions';
import type { Session } from './session';

export interface CanvasPaneHost {
  onSelection(elements: readonly string[]): void;
  onOpen(element: string): void;
}

/** Above this many nodes the minimap is closed at first: it costs a tenth of a second a frame. */
const MINIMAP_UP_TO = 300;

const MARKS = {
  error: { kind: 'err', icon: 'x' },
  warning: { kind: 'warn', icon: 'triangle-alert' },
} as const;

export class CanvasPane {
  readonly element: HTMLElement;
  readonly editor: Editor;
  private readonly minimap: Minimap;
  private readonly pad: Pad;
  private readonly picker: Picker;
  private readonly zoomText = html('span', { class: 'zoom', role: 'status' });
  private marks: ReadonlyMap<string, Problem['severity']> = new Map();
  private pointer: { x: number; y: number } | undefined;

  constructor(
    private readonly session: Session,
    private readonly actions: Actions,
    private readonly host: CanvasPaneHost,
  ) {
    const { t } = session;
    const stage = html('div', { class: 'stage' });
    const map = html('div', { class: 'minimap' });
    this.picker = new Picker(session);
    this.pad = new Pad(session, {
      addAfter: () => this.pickAfter(),
      connect: (event) => this.connectFrom(event),
      swap: () => this.pickSwap(),
      duplicate: () => actions.duplicate(),
      remove: () => actions.removeSelected(),
    });
    this.element = html(
      'section',
      { class: 'canvas dotgrid', 'aria-label': t('designer.canvas') },
      stage,
      this.pad.element,
      map,
      this.picker.element,
    );
    this.editor = new Editor(stage, this.editorHost());
    this.minimap = new Minimap(map, t('designer.canvas.minimap'), {
      viewbox: () => this.editor.viewbox,
      centreOn: (point) => this.editor.centreOn(point),
      categoryOf: (type) => session.activities.look(type).category,
    });
    this.minimap.toggle(session.doc.nodes.length <= MINIMAP_UP_TO);
    this.element.append(this.arrangeBar(), this.zoomBar());
    this.element.addEventListener('pointermove', ({ clientX, clientY }) => {
      this.pointer = { x: clientX, y: clientY };
    });
    this.element.addEventListener('pointerleave', () => {
      this.pointer = undefined;
    });
    new ResizeObserver(() => this.resized()).observe(this.element);
  }

  private editorHost(): EditorHost {
    const { session, actions } = this;
    const { modes } = session.activities;
    return {
      label: session.t('designer.canvas.label', { name: text(session.doc.displayName) || text(session.doc.name) }),
      changes: {
        add: (type, at, onto, beside) =>
          actions.addAt(type, beside === undefined ? at : actions.placeBeside(beside), onto),
        connect: (source, target) => actions.connect(source, target),
        move: (nodes, by, onto) => actions.move(nodes, by, onto),
        bend: (transition, points) => actions.bend(transition, points),
        reconnect: (transition, end, node) => actions.reconnect(transition, end, node),
      },
      may: {
        readOnly: () => session.frozen,
        add: (type) => mayAdd(session.doc, type),
        insert: (type) => mayInsert(type, modes),
        dropOn: (node, transition) => mayDropOn(session.doc, node, transition, modes),
        connect: (source, target) => mayConnect(session.doc, source, target, modes),
      },
      paints: {
        node: (id, type) => this.nodePaint(id, type),
        edge: (id) => this.edgePaint(id),
      },
      sentence: (id) => this.sentence(id),
      tooltip: (id) => this.tooltip(id),
      onSelection: (elements) => {
        this.placePad();
        this.host.onSelection(elements);
      },
      onViewbox: () => this.viewMoved(),
      onOpen: (element) => this.host.onOpen(element),
    };
  }

  private nodePaint(id: string, newType: string | undefined): NodePaint {
    const { session } = this;
    const node = newType === undefined ? nodeOf(session.doc, id) : undefined;
    const type = node?.activityType ?? newType ?? '';
    const look = session.activities.look(type);
    const severity = this.marks.get(id);
    return {
      title: ellipse(node ? nodeName(node) : look.title, TITLE_UNITS),
      subtitle: node ? ellipse(subtitle(node, session.activities, session.words), SUBTITLE_UNITS) : '',
      category: look.category,
      icon: look.icon,
      mark: severity && MARKS[severity],
      count: undefined,
    };
  }

  private edgePaint(id: string) {
    const transition = transitionOf(this.session.doc, transitionKeyOf(id) ?? '');
    const severity = this.marks.get(id);
    return {
      label: transition ? shortLabel(transition, this.session.words) : '',
      isDefault: transition?.isDefault === true,
      mark: severity && MARKS[severity],
      nodes: [...sceneOf(this.session.doc).nodes.values()].map(({ rect }) => rect),
    };
  }

  /** What a reader hears: the element, its place in the flow, what is wrong with it. */
  private sentence(id: string): string {
    const { doc, activities, words, problems } = this.session;
    const transition = transitionKeyOf(id);
    const sentence =
      transition === undefined ? nodeSentence(doc, id, activities, words) : edgeSentence(doc, transition, words);
    if (!this.marks.has(id)) return sentence;
    const mine = problems.filter(
      ({ target }) => (target.kind === 'node' || target.kind === 'transition') && target.element === id,
    );
    return mine.length === 0 ? sentence : `${sentence}. ${mine.map(({ message }) => message).join(' ')}`;
  }

  private tooltip(id: string): string {
    const { doc, activities, words } = this.session;
    const key = transitionKeyOf(id);
    if (key !== undefined) {
      const transition = transitionOf(doc, key);
      const full = transition ? transitionLabel(transition, words) : '';
      return transition && full !== shortLabel(transition, words) ? full : '';
    }
    const node = nodeOf(doc, id);
    if (!node) return '';
    const second = subtitle(node, activities, words);
    const whole = ellipse(nodeName(node), TITLE_UNITS) === nodeName(node) && ellipse(second, SUBTITLE_UNITS) === second;
    return whole ? '' : [nodeName(node), second].filter(Boolean).join('\n');
  }

  private arrangeBar(): HTMLElement {
    const { session, element } = this;
    const { t } = session;
    const grid = iconButton(t('designer.canvas.grid'), 'grid-3x3', {
      'aria-pressed': 'true',
      click: () => {
        const on = element.classList.toggle('dotgrid');
        grid.setAttribute('aria-pressed', String(on));
      },
    });
    const arrange = iconButton(t('designer.canvas.arrange'), 'wand', {
      click: () => void this.arrange(),
    });
    return html(
      'div',
      { class: 'float tl', role: 'toolbar', 'aria-label': t('designer.canvas.tools') },
      !session.readOnly && arrange,
      grid,
    );
  }

  private async arrange(): Promise<void> {
    await this.actions.arrangeAll();
    this.editor.fit();
  }

  private zoomBar(): HTMLElement {
    const { t } = this.session;
    const map = iconButton(t('designer.canvas.minimap'), 'map', {
      class: 'of-minimap',
      'aria-pressed': String(this.minimap.open),
      click: () => {
        this.minimap.toggle(!this.minimap.open);
        map.setAttribute('aria-pressed', String(this.minimap.open));
        this.minimap.drawNodes(sceneOf(this.session.doc));
      },
    });
    return html(
      'div',
      { class: 'float bl', role: 'toolbar', 'aria-label': t('designer.canvas.zoom') },
      iconButton(t('designer.canvas.zoom_out'), 'minus', { click: () => this.editor.zoomBy(-1) }),
      this.zoomText,
      iconButton(t('designer.canvas.zoom_in'), 'plus', { click: () => this.editor.zoomBy(1) }),
      html('span', { class: 'sep' }),
      iconButton(t('designer.canvas.fit'), 'scan', { click: () => this.editor.fit(), 'aria-keyshortcuts': 'Shift+1' }),
      map,
    );
  }

  /** Shows the document as it is now. */
  show(): void {
    const scene = sceneOf(this.session.doc);
    this.editor.show(scene);
    this.minimap.drawNodes(scene);
    this.element.classList.toggle('is-empty', scene.nodes.size === 0);
    this.placePad();
  }

  /** Shows badges for the problems; only what changed is drawn again. */
  showProblems(): void {
    this.editor.whenIdle(() => this.drawMarks());
  }

  private drawMarks(): void {
    const before = this.marks;
    this.marks = badges(this.session.problems);
    const changed = new Set(
      [...before.keys(), ...this.marks.keys()].filter((id) => before.get(id) !== this.marks.get(id)),
    );
    this.editor.show(sceneOf(this.session.doc), changed);
  }

  private viewMoved(): void {
    this.zoomText.textContent = `${Math.round(this.editor.scale * 100)} %`;
    this.moveGrid();
    this.minimap.drawFrame();
    this.placePad();
  }

  /** The dots move and grow with the diagram. */
  private moveGrid(): void {
    const { x, y } = this.editor.viewbox;
    const { scale } = this.editor;
    const size = 20 * scale * (scale < 0.5 ? 2 : 1);
    this.element.style.backgroundSize = `${size}px ${size}px`;
    this.element.style.backgroundPosition = `${-x * scale}px ${-y * scale}px`;
  }

  private placePad(): void {
    const elements = this.editor.selected();
    if (this.editor.dragging || this.picker.open) this.pad.hide();
    else this.pad.show(elements, this.editor.screenBox(elements));
  }

  resized(): void {
    this.editor.resized();
    this.viewMoved();
  }

  /** Where the pointer is over the canvas, as a place in the document. */
  get pointerPlace(): { x: number; y: number } | undefined {
    if (!this.pointer) return undefined;
    const box = this.element.getBoundingClientRect();
    const { x, y } = this.editor.viewbox;
    return {
      x: x + (this.pointer.x - box.left) / this.editor.scale,
      y: y + (this.pointer.y - box.top) / this.editor.scale,
    };
  }

  private connectFrom(event: MouseEvent): void {
    const [from] = this.editor.selected();
    if (from === undefined) return;
    this.pad.hide();
    this.editor.focus();
    this.session.say(this.session.t('designer.said.connecting'));
    this.editor.startConnecting(event, from);
  }

  private pick(label: string, allowed: (type: string) => boolean, chosen: (type: string) => void): void {
    if (this.session.frozen) return;
    const elements = this.editor.selected();
    const box = this.editor.screenBox(elements);
    const { width, height } = this.element.getBoundingClientRect();
    const at = box ? { x: box.x + box.width + 12, y: box.y } : { x: width / 2 - 130, y: height / 3 };
    this.pad.hide();
    this.picker.show(
      { label, at, allowed: (each) => allowed(each.type), chosen, closed: () => this.pickerClosed() },
      { width, height },
    );
  }

  private pickerClosed(): void {
    this.editor.focus(this.editor.selected()[0]);
    this.placePad();
  }

  /** Opens the list of steps that may follow the selected one. */
  pickAfter(): void {
    const { session } = this;
    const [element] = this.editor.selected();
    const into = element !== undefined && transitionKeyOf(element) !== undefined;
    const ends = element !== undefined && !into && !mayLeave(session.doc, element, session.activities.modes);
    if (ends) this.editor.select([]);
    this.pick(
      session.t('designer.pad.add'),
      (type) => mayAdd(session.doc, type) && (!into || mayInsert(type, session.activities.modes)),
      (type) => this.actions.addAfter(type),
    );
  }

  pickSwap(): void {
    const { session } = this;
    const [key] = this.editor.selected();
    const node = key === undefined ? undefined : nodeOf(session.doc, key);
    if (key === undefined || !node) return;
    const reached = sceneOf(session.doc).incoming.has(key);
    const leads = sceneOf(session.doc).outgoing.has(key);
    this.pick(
      session.t('designer.pad.swap'),
      (type) =>
        type !== node.activityType &&
        mayAdd(session.doc, type) &&
        !(reached && type === 'Start') &&
        !(leads && session.activities.modes.get(type) === 'None'),
      (type) => this.actions.swap(key, type),
    );
  }

  /** Goes to what a problem is about. */
  goTo(target: Problem['target']): void {
    if (target.kind !== 'node' && target.kind !== 'transition') {
      this.editor.select([]);
      return;
    }
    this.editor.select([target.element]);
    this.editor.reveal(target.element);
  }

  /** After undo and redo the selection shows what came back. */
  selectChanged(before: ReturnType<typeof sceneOf>, after: ReturnType<typeof sceneOf>): void {
    const back = [...after.nodes.keys()].filter((key) => !before.nodes.has(key));
    if (back.length > 0) this.editor.select(back);
    const lines = [...after.edges.keys()].filter((key) => !before.edges.has(key));
    if (back.length === 0 && lines.length === 1) this.editor.select(lines.map(transitionElement));
  }
}
