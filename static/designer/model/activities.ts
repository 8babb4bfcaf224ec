/** The activity descriptors as the server lists them, and what is known of the built-in ones before it answers. */
import { type NodeDoc, text } from './definition';
import { isList, isObject, type JsonObject, type JsonValue } from './json';

export const EDITORS = [
  'text',
  'longText',
  'number',
  'duration',
  'switch',
  'choice',
  'list',
  'keyValue',
  'expression',
  'template',
  'condition',
  'assigneeRules',
  'form',
  'definition',
  'json',
] as const;
export type EditorName = (typeof EDITORS)[number];

export const CATEGORIES = [
  'people',
  'routing',
  'time',
  'connect',
  'subflow',
  'data',
  'errors',
  'ends',
  'custom',
] as const;
export type Category = (typeof CATEGORIES)[number];

export type Kind = 'literal' | 'template' | 'expression' | 'literalOrExpression';

export interface Option {
  readonly value: string;
  readonly title: string;
}

export interface PropertyDescriptor {
  readonly name: string;
  readonly title: string;
  readonly help: string;
  readonly editor: EditorName;
  readonly kind: Kind;
  readonly required: boolean;
  readonly default: JsonValue | undefined;
  readonly options: readonly Option[];
  readonly section: string;
  /** What a literal must be: string, number …, workCalendar. */
  readonly type: string;
  /** A value as it might be written: the placeholder of an empty field. */
  readonly example: string;
  /** A choice and the one value of it with which this property means anything. */
  readonly countsWith: readonly [string, string] | undefined;
}

export interface ActivityDescriptor {
  readonly type: string;
  readonly title: string;
  readonly description: string;
  readonly category: Category;
  readonly icon: string;
  readonly outgoingMode: string;
  readonly outcomes: readonly string[];
  readonly waits: boolean;
  readonly properties: readonly PropertyDescriptor[];
}

/** Icon and category of the activities that a definition may name even where the server doesn't offer them. */
const KNOWN: Readonly<Record<string, readonly [Category, string]>> = {
  Start: ['ends', 'circle-play'],
  End: ['ends', 'flag'],
  Terminate: ['ends', 'octagon-x'],
  UserTask: ['people', 'user-check'],
  Decision: ['routing', 'split'],
  Parallel: ['routing', 'columns-2'],
  Join: ['routing', 'merge'],
  EventGateway: ['routing', 'route'],
  SetVariable: ['data', 'braces'],
  Delay: ['time', 'timer'],
  WaitSignal: ['time', 'radio-tower'],
  PublishEvent: ['time', 'megaphone'],
  Http: ['connect', 'globe'],
  ExternalTask: ['connect', 'plug'],
  SubWorkflow: ['subflow', 'boxes'],
  ForEach: ['subflow', 'repeat'],
  Log: ['errors', 'scroll-text'],
  Fault: ['errors', 'zap'],
  Compensate: ['errors', 'rotate-ccw'],
};

function oneOf<T extends string>(value: JsonValue | undefined, all: readonly T[], fallback: T): T {
  return all.find((each) => each === value) ?? fallback;
}

function texts(value: JsonValue | undefined): readonly string[] {
  return isList(value) ? value.filter((each) => typeof each === 'string') : [];
}

function option(value: JsonValue): Option | undefined {
  if (typeof value === 'string') return { value, title: value };
  if (!isObject(value) || typeof value.value !== 'string') return undefined;
  return { value: value.value, title: text(value.title) || value.value };
}

function pair(value: JsonValue | undefined): readonly [string, string] | undefined {
  const [name, wanted] = texts(value);
  return name !== undefined && wanted !== undefined ? [name, wanted] : undefined;
}

function property(item: JsonObject): PropertyDescriptor {
  return {
    name: text(item.name),
    title: text(item.title) || text(item.name),
    help: text(item.help),
    editor: oneOf(item.editor, EDITORS, 'json'),
    kind: oneOf(item.kind, ['literal', 'template', 'expression', 'literalOrExpression'], 'literal'),
    required: item.required === true,
    default: item.default ?? undefined,
    options: isList(item.options) ? item.options.flatMap((each) => option(each) ?? []) : [],
    section: text(item.section) || 'setup',
    type: text(item.type) || 'string',
    example: text(item.example),
    countsWith: pair(item.countsWith),
  };
}

function activity(item: JsonObject): ActivityDescriptor {
  const type = text(item.type);
  return {
    type,
    title: text(item.title) || type,
    description: text(item.description),
    category: oneOf(item.category, CATEGORIES, 'custom'),
    icon: text(item.icon) || (KNOWN[type]?.[1] ?? 'puzzle'),
    outgoingMode: text(item.outgoingMode) || 'Matched',
    outcomes: texts(item.outcomes),
    waits: item.waits === true,
    properties: isList(item.properties) ? item.properties.filter(isObject).map(property) : [],
  };
}

/** All activities by their type. */
export class Activities {
  private readonly byType: ReadonlyMap<string, ActivityDescriptor>;
  readonly modes: ReadonlyMap<string, string>;

  constructor(readonly all: readonly ActivityDescriptor[]) {
    this.byType = new Map(all.map((each) => [each.type, each]));
    this.modes = new Map(all.map((each) => [each.type, each.outgoingMode]));
  }

  /** Reads the answer of `GET /activities`: a list, or a page of `items`. */
  static read(answer: JsonValue): Activities {
    const list = isObject(answer) && isList(answer.items) ? answer.items : isList(answer) ? answer : [];
    return new Activities(list.filter(isObject).map(activity));
  }

  get(type: string): ActivityDescriptor | undefined {
    return this.byType.get(type);
  }

  /** Look of an activity, also of one that the server doesn't offer. */
  look(type: string): { readonly category: Category; readonly icon: string; readonly title: string } {
    const found = this.byType.get(type);
    if (found) return found;
    const [category, icon] = KNOWN[type] ?? ['custom', 'puzzle'];
    return { category, icon, title: type };
  }

  /** Palette groups in their order; only those that hold something that matches the words. */
  groups(
    words: string,
  ): readonly { readonly category: Category; readonly activities: readonly ActivityDescriptor[] }[] {
    const wanted = words.trim().toLocaleLowerCase().split(/\s+/).filter(Boolean);
    const matches = (each: ActivityDescriptor) => {
      const all = `${each.title} ${each.description} ${each.type}`.toLocaleLowerCase();
      return wanted.every((word) => all.includes(word));
    };
    return CATEGORIES.flatMap((category) => {
      const activities = this.all.filter((each) => each.category === category && matches(each));
      return activities.length > 0 ? [{ category, activities }] : [];
    });
  }
}

/** The key under which a node keeps a property: PascalCase as listed, or the same name in camelCase. */
export function propertyKey(node: NodeDoc, name: string): string {
  const properties = isObject(node.properties) ? node.properties : {};
  const camel = name.charAt(0).toLowerCase() + name.slice(1);
  return !Object.hasOwn(properties, name) && Object.hasOwn(properties, camel) ? camel : name;
}

/** A property's value; null counts as not set. */
export function propertyValue(node: NodeDoc, name: string): JsonValue | undefined {
  const properties = isObject(node.properties) ? node.properties : {};
  return properties[propertyKey(node, name)] ?? undefined;
}

/** Outcomes that the node can end with: those it allows itself, else those of its activity. */
export function outcomesOf(node: NodeDoc, activities: Activities): readonly string[] {
  const own = texts(propertyValue(node, 'AllowedOutcomes'));
  if (own.length > 0) return own;
  const listed = activities.get(node.activityType)?.outcomes ?? [];
  if (listed.length > 0) return listed;
  return node.activityType === 'UserTask' ? ['approved', 'rejected'] : [];
}
