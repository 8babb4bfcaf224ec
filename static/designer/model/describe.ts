/** Words on the diagram: the second line of a node, the label of a transition, sentences for screen readers. */
import { type Activities, propertyValue } from './activities';
import { type DefinitionDoc, type NodeDoc, nodeName, type TransitionDoc, text } from './definition';
import { describeSeconds, fromDays } from './duration';
import { isList, isLosslessNumber, isObject } from './json';
import { sceneOf } from './scene';
import { ellipse } from './text';

/** Text of a key with its {placeholders} filled in. */
export type Translate = (key: string, args?: Readonly<Record<string, string | number>>) => string;

/** Titles that the document doesn't say: an outcome's, in the reader's language. */
export interface Words {
  readonly t: Translate;
  readonly outcome: (label: string) => string;
}

function people(node: NodeDoc, { t }: Words): string {
  const policy = text(propertyValue(node, 'CompletionPolicy')).toLowerCase() || 'any';
  const names: string[] = [];
  const direct = propertyValue(node, 'Assignees');
  if (isList(direct)) names.push(...direct.filter((each) => typeof each === 'string'));
  const rules = propertyValue(node, 'AssigneeRules');
  for (const rule of isList(rules) ? rules.filter(isObject) : []) {
    const values = isList(rule.values) ? rule.values.filter((each) => typeof each === 'string') : [];
    if (rule.type === 'Starter') names.push(t('diagram.starter'));
    else if (rule.type === 'Expression') names.push(...values.map(() => t('diagram.computed')));
    else names.push(...values);
  }
  if (text(propertyValue(node, 'AssigneesExpression'))) names.push(t('diagram.computed'));
  if (names.length === 0) return '';
  if (names.length === 1) return names[0] as string;
  const known = policy === 'all' || policy === 'sequential' ? policy : 'any';
  return t(`diagram.policy.${known}`, { count: names.length });
}

function delay(node: NodeDoc, words: Words): string {
  const duration = propertyValue(node, 'DurationSeconds');
  if (isLosslessNumber(duration)) return describeSeconds(duration.value, words.t);
  const days = fromDays(text(duration));
  if (days !== undefined) return words.t('diagram.duration.days', { count: days });
  return text(duration) || text(propertyValue(node, 'Until')) || text(propertyValue(node, 'Cron'));
}

function keysIn(node: NodeDoc): string {
  const names = ['Values', 'Expressions'].flatMap((name) => {
    const value = propertyValue(node, name);
    return isObject(value) ? Object.keys(value) : [];
  });
  return [...new Set(names)].join(', ');
}

const DETAILS: Readonly<Record<string, (node: NodeDoc, words: Words) => string>> = {
  UserTask: people,
  Delay: delay,
  SetVariable: keysIn,
  End: (node, words) => {
    const outcome = text(propertyValue(node, 'Outcome'));
    return outcome ? words.outcome(outcome) : '';
  },
  Join: (node, { t }) => {
    const mode = text(propertyValue(node, 'Mode')).toLowerCase();
    return t(mode.endsWith('any') ? 'diagram.join.any' : 'diagram.join.all');
  },
  Log: (node) => text(propertyValue(node, 'Message')),
  Fault: (node) => text(propertyValue(node, 'Message')),
  Http: (node) => `${text(propertyValue(node, 'Method')) || 'GET'} ${text(propertyValue(node, 'Url'))}`.trim(),
  WaitSignal: (node) => text(propertyValue(node, 'SignalName')),
  PublishEvent: (node) => text(propertyValue(node, 'EventName')),
  ExternalTask: (node) => text(propertyValue(node, 'Topic')),
  SubWorkflow: (node) => text(propertyValue(node, 'DefinitionName')) || text(propertyValue(node, 'DefinitionCode')),
  ForEach: (node) => text(propertyValue(node, 'DefinitionName')) || text(propertyValue(node, 'DefinitionCode')),
};

/** The second line: what is particular about the node, else the name of its activity. */
export function subtitle(node: NodeDoc, activities: Activities, words: Words): string {
  const title = activities.look(node.activityType).title;
  const detail = DETAILS[node.activityType]?.(node, words) ?? '';
  if (!detail) return nodeName(node) === title ? '' : title;
  // The activity's name is left out where the tile says enough and the detail needs the room.
  return node.activityType === 'End' || node.activityType === 'Join' ? `${title} · ${detail}` : detail;
}

/** Fits the node: 172 wide, 50 taken by bar and tile. */
export const TITLE_UNITS = 16;
export const SUBTITLE_UNITS = 20;
const LABEL_UNITS = 24;

const OUTCOME_IS = /^\s*outcome\s*==\s*(?:'([^'\\]*)'|"([^"\\]*)")\s*$/;

/** The outcome that a condition asks for, when it asks for nothing else. */
export function outcomeOfCondition(condition: string): string | undefined {
  const match = OUTCOME_IS.exec(condition);
  return match ? (match[1] ?? match[2]) : undefined;
}

export function outcomeCondition(outcome: string): string {
  return `outcome == '${outcome.replace(/[\\']/g, '\\$&')}'`;
}

/** What stands on the line, in full: its name, else its condition in words, else that it is the default. */
export function transitionLabel(transition: TransitionDoc, { t, outcome }: Words): string {
  const name = text(transition.name).trim();
  if (name) return name;
  if (transition.isDefault === true) return t('diagram.otherwise');
  const condition = text(transition.condition).trim();
  const asked = outcomeOfCondition(condition);
  return asked === undefined ? condition : outcome(asked);
}

export function shortLabel(transition: TransitionDoc, words: Words): string {
  return ellipse(transitionLabel(transition, words), LABEL_UNITS);
}

/** One sentence for a node: its name, its activity, where it leads. */
export function nodeSentence(doc: DefinitionDoc, key: string, activities: Activities, words: Words): string {
  const scene = sceneOf(doc);
  const found = scene.nodes.get(key);
  if (!found) return '';
  const parts = [nodeName(found.node), activities.look(found.node.activityType).title];
  const detail = subtitle(found.node, activities, words);
  if (detail && detail !== parts[1]) parts.push(detail);
  const next = scene.outgoing.get(key) ?? [];
  const leads = next.map((edge) => {
    const to = nodeName((scene.nodes.get(edge.target) as { node: NodeDoc }).node);
    const label = transitionLabel(edge.transition, words);
    return label ? words.t('diagram.leads_if', { to, label }) : to;
  });
  const sentence = parts.join(', ');
  return leads.length === 0 ? sentence : words.t('diagram.leads', { node: sentence, next: leads.join('; ') });
}

export function edgeSentence(doc: DefinitionDoc, key: string, words: Words): string {
  const { nodes, edges } = sceneOf(doc);
  const edge = edges.get(key);
  if (!edge) return '';
  const from = nodeName((nodes.get(edge.source) as { node: NodeDoc }).node);
  const to = nodeName((nodes.get(edge.target) as { node: NodeDoc }).node);
  const label = transitionLabel(edge.transition, words);
  return words.t(label ? 'diagram.edge_if' : 'diagram.edge', { from, to, label });
}
