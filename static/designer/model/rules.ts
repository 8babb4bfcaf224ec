/** What may be done: which transitions may be drawn, what may be dropped where. The server has the last word. */
import { type DefinitionDoc, nodeOf, transitionOf } from './definition';

/** Activities that end the way: their outgoing mode is None, no transition leaves them. */
export type Modes = ReadonlyMap<string, string>;

function leadsOn(doc: DefinitionDoc, key: string, modes: Modes): boolean {
  const node = nodeOf(doc, key);
  return node !== undefined && modes.get(node.activityType) !== 'None';
}

function canBeReached(doc: DefinitionDoc, key: string): boolean {
  const node = nodeOf(doc, key);
  return node !== undefined && node.activityType !== 'Start';
}

/** A transition may lead from a node that goes on to any node but Start. Loops are legal, to itself as well. */
export function mayConnect(doc: DefinitionDoc, source: string, target: string, modes: Modes): boolean {
  return leadsOn(doc, source, modes) && canBeReached(doc, target);
}

export function mayLeave(doc: DefinitionDoc, source: string, modes: Modes): boolean {
  return leadsOn(doc, source, modes);
}

/** A new activity may go between the ends of a transition when it can be reached and goes on. */
export function mayInsert(activityType: string, modes: Modes): boolean {
  return activityType !== 'Start' && modes.get(activityType) !== 'None';
}

/** A node that is there may be dropped on a transition when nothing is joined to it yet. */
export function mayDropOn(doc: DefinitionDoc, nodeKey: string, transitionKey: string, modes: Modes): boolean {
  const node = nodeOf(doc, nodeKey);
  const transition = transitionOf(doc, transitionKey);
  if (!node || !transition || !mayInsert(node.activityType, modes)) return false;
  return !doc.transitions.some((each) => each.sourceNodeId === node.id || each.targetNodeId === node.id);
}

/** One Start is enough; a second one could never be published. */
export function mayAdd(doc: DefinitionDoc, activityType: string): boolean {
  return activityType !== 'Start' || !doc.nodes.some((node) => node.activityType === 'Start');
}
