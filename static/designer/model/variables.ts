/** Which variables there are at run time, as far as the document tells: declared, written by steps, reserved. */
import { propertyValue } from './activities';
import { type DefinitionDoc, type NodeDoc, nodeName, text } from './definition';
import type { Translate } from './describe';
import type { KnownVariable } from './expression';
import { isList, isObject } from './json';

export const VARIABLE_TYPES = ['string', 'number', 'boolean', 'date', 'dateTime', 'object', 'array'] as const;

const RESERVED = ['outcome', 'lastError'];

/** Variables that a node writes: its values, its expressions, its result. */
export function writtenBy(node: NodeDoc): readonly string[] {
  const names: string[] = [];
  if (node.activityType === 'SetVariable') {
    for (const property of ['Values', 'Expressions']) {
      const value = propertyValue(node, property);
      if (isObject(value)) names.push(...Object.keys(value));
    }
  }
  const result = text(propertyValue(node, 'ResultVariable'));
  if (result) names.push(result);
  if (node.activityType === 'Http') names.push('httpStatusCode');
  const writable = propertyValue(node, 'WritableVariables');
  if (isList(writable)) names.push(...writable.filter((each) => typeof each === 'string'));
  return names;
}

/** Every known variable once: declared ones first, with their type; then those that steps write; then the reserved. */
export function knownVariables(doc: DefinitionDoc, t: Translate): readonly KnownVariable[] {
  const known = new Map<string, KnownVariable>();
  const add = (name: string, type: string, origin: string) => {
    if (name && !known.has(name)) known.set(name, { name, type, origin });
  };
  for (const variable of doc.variables) {
    const type = text(variable.type);
    add(text(variable.name), type ? t(`designer.type.${type}`) : '', t('designer.from_start'));
  }
  for (const node of doc.nodes) for (const name of writtenBy(node)) add(name, '', nodeName(node));
  for (const name of RESERVED) add(name, '', t('designer.from_engine'));
  return [...known.values()];
}
