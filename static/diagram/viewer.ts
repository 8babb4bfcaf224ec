/** Entry of the diagram on the pages of monitor, tasks and requests: mounts every `[data-diagram]`, now and later. */
import './diagram.css';
import { arrowHeads, paintCompensations, paintEdge, paintNode } from '../designer/canvas/paint';
import { Activities } from '../designer/model/activities';
import { type DefinitionDoc, nodeName, readDefinition, type TransitionDoc } from '../designer/model/definition';
import {
  nodeSentence,
  SUBTITLE_UNITS,
  shortLabel,
  subtitle,
  TITLE_UNITS,
  type Words,
} from '../designer/model/describe';
import { bounds, type Rect } from '../designer/model/geometry';
import { parseJson } from '../designer/model/json';
import { compensationsOf, type Scene, type SceneEdge, type SceneNode, sceneOf } from '../designer/model/scene';
import { ellipse } from '../designer/model/text';
import { readingOrder } from '../designer/model/walk';
import { html, svg } from '../designer/view/html';
import { findSprite, iconButton } from '../designer/view/icons';
import { translator, words } from '../designer/view/messages';
import { lookOf, presentNode, readStates, type States } from './states';
import { Viewport } from './viewport';

let activities: Promise<Activities> | undefined;

/** Names of the activities, asked for once; without an answer their types stand for them. */
function knownActivities(): Promise<Activities> {
  activities ??= fetch('/api/v1/activities', { headers: { Accept: 'application/json' }, credentials: 'same-origin' })
    .then((response) => (response.ok ? response.text() : '[]'))
    .then((text) => Activities.read(parseJson(text)))
    .catch(() => new Activities([]));
  return activities;
}

interface Picture {
  readonly doc: DefinitionDoc;
  readonly scene: Scene;
  readonly states: States;
  readonly known: Activities;
  readonly say: Words;
}

function drawNode({ key, node, rect }: SceneNode, { states, known, say }: Picture): SVGGElement {
  const state = states.nodes.get(node.id);
  const look = lookOf(state, node.activityType);
  const { category, icon } = known.look(node.activityType);
  const second = subtitle(node, known, say);
  const group = svg('g', {
    class: `node ${look.role}`,
    'data-cat': category,
    'data-node': key,
    'data-state': state?.state ?? 'idle',
    transform: `translate(${rect.x} ${rect.y})`,
  });
  paintNode(group, {
    title: ellipse(nodeName(node), TITLE_UNITS),
    subtitle: ellipse(second, SUBTITLE_UNITS),
    category,
    icon,
    mark: look.mark,
    count: state?.label || undefined,
  });
  group.prepend(svg('title', {}, [nodeName(node), second].filter(Boolean).join('\n')));
  return group;
}

/** Draws a line, and its label into a group of its own: labels lie above the nodes. */
function drawEdge({ key, transition, points }: SceneEdge, { scene, states, say }: Picture) {
  const taken = states.transitions.has((transition as TransitionDoc).id);
  const look = `edge ${taken ? 'done' : 'idle'}`;
  const line = svg('g', { class: look, 'data-transition': key });
  const label = svg('g', { class: look });
  const paint = {
    label: shortLabel(transition, say),
    isDefault: transition.isDefault === true,
    mark: undefined,
    nodes: [...scene.nodes.values()].map(({ rect }) => rect),
  };
  paintEdge(line, points, paint, label);
  return { line, label };
}

/** The same as sentences, for readers: the steps in their order, with state and way on. */
function outline({ doc, scene, states, known, say }: Picture): HTMLElement {
  const { t } = say;
  const rows = readingOrder(doc).map((key) => {
    const id = scene.nodes.get(key)?.node.id ?? key;
    const found = states.nodes.get(id);
    const state = t(`diagram.state.${found?.state ?? 'idle'}`);
    const node = nodeSentence(doc, key, known, say);
    const sentence = found?.label
      ? t('diagram.sentence_fact', { node, state, fact: found.label })
      : t('diagram.sentence', { node, state });
    return html('li', {}, sentence);
  });
  return html('ol', { class: 'vh', 'aria-label': t('diagram.outline') }, ...rows);
}

function tools(viewport: Viewport, { t }: Words): HTMLElement {
  return html(
    'div',
    { class: 'viewer-tools', role: 'toolbar', 'aria-label': t('diagram.zoom') },
    iconButton(t('diagram.zoom_out'), 'minus', { click: () => viewport.zoomBy(1 / 1.2) }),
    iconButton(t('diagram.zoom_in'), 'plus', { click: () => viewport.zoomBy(1.2) }),
    iconButton(t('diagram.fit'), 'scan', { click: () => viewport.fit(undefined, true) }),
  );
}

function extent(scene: Scene): Rect {
  const lines = [...scene.edges.values()].flatMap(({ points }) =>
    points.map((point) => ({ ...point, width: 0, height: 0 })),
  );
  return (
    bounds([...[...scene.nodes.values()].map(({ rect }) => rect), ...lines]) ?? { x: 0, y: 0, width: 1, height: 1 }
  );
}

function draw(host: HTMLElement, picture: Picture): void {
  const { scene, states, say } = picture;
  const edges = [...scene.edges.values()]
    // Taken lines lie above those that were not.
    .sort((a, b) => Number(states.transitions.has(a.transition.id)) - Number(states.transitions.has(b.transition.id)))
    .map((edge) => drawEdge(edge, picture));
  const undoing = svg('g', {});
  paintCompensations(undoing, compensationsOf(scene));
  const layer = svg(
    'g',
    {},
    undoing,
    ...edges.map(({ line }) => line),
    ...[...scene.nodes.values()].map((node) => drawNode(node, picture)),
    ...edges.map(({ label }) => label),
  );
  const image = svg('svg', { class: 'viewer-picture', 'aria-hidden': 'true', focusable: 'false' }, arrowHeads(), layer);
  const label = host.getAttribute('aria-label') ?? say.t('diagram.outline');
  const box = html('div', { class: 'viewer', tabindex: '0', role: 'group', 'aria-label': label }, image);
  const viewport = new Viewport(box, image, layer, extent(scene), host.dataset.diagram === 'map');
  host.replaceChildren(box, tools(viewport, say), outline(picture));
  const present = presentNode(states);
  const around = [...scene.nodes.values()].find(({ node }) => node.id === present)?.rect;
  let width = 0;
  new ResizeObserver(() => {
    if (box.clientWidth === width) return;
    width = box.clientWidth;
    viewport.fit(around);
  }).observe(box);
  viewport.fit(around);
}

function definitionOf(host: HTMLElement): string | undefined {
  const named = host.dataset.definition;
  if (named) return named;
  return host.parentElement?.querySelector('script[type="application/json"]')?.textContent ?? undefined;
}

const mounted = new WeakMap<HTMLElement, string>();

async function mount(host: HTMLElement): Promise<void> {
  const source = definitionOf(host);
  const stated = host.dataset.states ?? '';
  if (source === undefined || mounted.get(host) === stated) return;
  mounted.set(host, stated);
  const known = await knownActivities();
  const doc = readDefinition(source);
  draw(host, { doc, scene: sceneOf(doc), states: readStates(stated), known, say: words(translator()) });
  host.dataset.drawn = 'true';
}

function mountAll(root: ParentNode): void {
  for (const host of root.querySelectorAll<HTMLElement>('[data-diagram]')) {
    mount(host).catch((error: unknown) => console.error(error));
  }
}

findSprite();
mountAll(document);
// Partial answers bring new diagrams, and new states for those that are there.
new MutationObserver(() => mountAll(document)).observe(document.body, {
  childList: true,
  subtree: true,
  attributes: true,
  attributeFilter: ['data-states'],
});
