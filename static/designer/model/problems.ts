/** Problems as the server names them, brought to what they are about: a node or transition, and a field of it. */
import { type DefinitionDoc, indexOfKey, keysOf, transitionElement } from './definition';
import { isList, isObject, type JsonObject, type JsonValue, toPixels } from './json';

export interface Problem {
  readonly severity: 'error' | 'warning';
  readonly key: string;
  readonly message: string;
  readonly path: string;
  readonly target: ProblemTarget;
}

export type ProblemTarget =
  | { readonly kind: 'node' | 'transition'; readonly element: string; readonly field: readonly string[] }
  | { readonly kind: 'variable'; readonly index: number; readonly field: readonly string[] }
  | { readonly kind: 'definition'; readonly field: readonly string[] };

/** Splits `nodes[3].properties.Expressions.total` into its steps; a name with dots stands in quotes in brackets. */
export function pathSteps(path: string): readonly string[] {
  const steps: string[] = [];
  const pattern = /\[(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|([^\]]*))\]|([^.[\]]+)/g;
  for (const match of path.replace(/^\$\.?/, '').matchAll(pattern)) {
    steps.push(match[1] ?? match[2] ?? match[3] ?? match[4] ?? '');
  }
  return steps;
}

function elementTarget(
  kind: 'node' | 'transition',
  list: readonly { readonly id: string }[],
  key: string | undefined,
  field: readonly string[],
): ProblemTarget {
  return key !== undefined && indexOfKey(list, key) >= 0
    ? { kind, element: kind === 'node' ? key : transitionElement(key), field }
    : { kind: 'definition', field };
}

/** What a problem is about, by its path; the ids it names stand in for a path that leads nowhere. */
export function targetOf(doc: DefinitionDoc, path: string, nodeId?: string, transitionId?: string): ProblemTarget {
  const [list, index, ...field] = pathSteps(path);
  const position = Number(index);
  if (list === 'nodes' && Number.isInteger(position) && doc.nodes[position]) {
    return elementTarget('node', doc.nodes, keysOf(doc.nodes)[position], field);
  }
  if (list === 'transitions' && Number.isInteger(position) && doc.transitions[position]) {
    return elementTarget('transition', doc.transitions, keysOf(doc.transitions)[position], field);
  }
  if (list === 'variables' && Number.isInteger(position) && doc.variables[position]) {
    return { kind: 'variable', index: position, field };
  }
  if (nodeId !== undefined) return elementTarget('node', doc.nodes, nodeId, field);
  if (transitionId !== undefined) return elementTarget('transition', doc.transitions, transitionId, field);
  return { kind: 'definition', field: list === undefined ? [] : pathSteps(path) };
}

function optionalText(value: JsonValue | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function toProblem(doc: DefinitionDoc, severity: Problem['severity'], item: JsonObject): Problem {
  const path = optionalText(item.path) ?? '';
  const target = targetOf(doc, path, optionalText(item.nodeId), optionalText(item.transitionId));
  return { severity, key: optionalText(item.key) ?? '', message: optionalText(item.message) ?? path, path, target };
}

/** Reads the answer of `validate` (or the `errors` of a refused publish): errors first. */
export function readProblems(doc: DefinitionDoc, answer: JsonValue): readonly Problem[] {
  if (!isObject(answer)) return [];
  const read = (member: JsonValue | undefined, severity: Problem['severity']) =>
    isList(member) ? member.filter(isObject).map((item) => toProblem(doc, severity, item)) : [];
  return [...read(answer.errors, 'error'), ...read(answer.warnings, 'warning')];
}

/** The property a problem is about, as people see it: `AssigneeRules[1]`. */
export function fieldLabel(problem: Problem): string {
  const field = problem.target.field[0] === 'properties' ? problem.target.field.slice(1) : problem.target.field;
  return field.reduce(
    (label, step) => (/^\d+$/.test(step) ? `${label}[${step}]` : label ? `${label}.${step}` : step),
    '',
  );
}

/** The worst problem of each node and transition. */
export function badges(problems: readonly Problem[]): ReadonlyMap<string, Problem['severity']> {
  const worst = new Map<string, Problem['severity']>();
  for (const { severity, target } of problems) {
    if (target.kind !== 'node' && target.kind !== 'transition') continue;
    if (worst.get(target.element) !== 'error') worst.set(target.element, severity);
  }
  return worst;
}

export interface TextProblem {
  readonly column: number;
  readonly line: number;
  readonly message: string;
}

/** Reads the answer of the expression check. */
export function readTextProblems(answer: JsonValue): readonly TextProblem[] {
  if (!isObject(answer) || !isList(answer.errors)) return [];
  return answer.errors.filter(isObject).map((item) => ({
    line: toPixels(item.line) ?? 1,
    column: toPixels(item.column) ?? 1,
    message: optionalText(item.message) ?? '',
  }));
}
