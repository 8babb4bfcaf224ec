/** What all parts of the designer share: the document with its history, the activities, texts, the server. */
import type { Activities } from '../model/activities';
import { type DefinitionDoc, text } from '../model/definition';
import type { Translate, Words } from '../model/describe';
import type { KnownVariable, TextKind } from '../model/expression';
import type { History, Op } from '../model/history';
import { isList, isObject, type JsonValue } from '../model/json';
import { type Problem, readTextProblems, type TextProblem } from '../model/problems';
import { knownVariables } from '../model/variables';
import type { Api } from './api';

const NARROW = window.matchMedia('(max-width: 1023px)');

export class Session {
  problems: readonly Problem[] = [];
  private calendarNames: Promise<readonly { value: string; title: string }[]> | undefined;
  private definitionNames: Promise<readonly { value: string; title: string }[]> | undefined;

  constructor(
    readonly history: History,
    readonly activities: Activities,
    readonly api: Api,
    readonly t: Translate,
    readonly words: Words,
    readonly readOnly: boolean,
    /** What the account may do with workflows; the server decides, this only hides what would be refused. */
    readonly rights: { readonly edit: boolean; readonly publish: boolean },
    readonly say: (text: string) => void,
    /** Address of the script that arranges large diagrams. */
    readonly layoutWorker?: string,
  ) {}

  get doc(): DefinitionDoc {
    return this.history.doc;
  }

  /** Nothing is changed in a version that is only read, nor in a window too narrow for the tools. */
  get frozen(): boolean {
    return this.readOnly || NARROW.matches;
  }

  /** Does operations as one step that can be taken back. */
  execute(label: string, ops: readonly Op[], merge?: string): boolean {
    return !this.frozen && this.history.execute(label, ops, merge);
  }

  variables(): readonly KnownVariable[] {
    return knownVariables(this.doc, this.t);
  }

  /** The server's word on an expression or template; nothing when it is not reached. */
  async check(source: string, kind: TextKind): Promise<readonly TextProblem[]> {
    try {
      return readTextProblems(await this.api.send('POST', '/expressions/check', { text: source, kind }));
    } catch {
      return [];
    }
  }

  /** Work calendars, for a field that names one. */
  calendars(): Promise<readonly { value: string; title: string }[]> {
    this.calendarNames ??= this.api
      .get('/calendars?limit=1000')
      .then(readNames)
      .catch(() => []);
    return this.calendarNames;
  }

  /** Published workflows, for a field that names one. */
  definitions(): Promise<readonly { value: string; title: string }[]> {
    this.definitionNames ??= this.api
      .get('/definitions?status=Published&latest=true&limit=1000')
      .then(readNames)
      .catch(() => []);
    return this.definitionNames;
  }
}

function readNames(answer: JsonValue): readonly { value: string; title: string }[] {
  const items = isObject(answer) && isList(answer.items) ? answer.items.filter(isObject) : [];
  return items.map((item) => ({ value: text(item.name), title: text(item.displayName) || text(item.name) }));
}
