/** The expression language as far as a field needs it: words to colour, names to offer. Checking is the server's. */

export type TokenKind = 'name' | 'function' | 'text' | 'number' | 'keyword' | 'operator' | 'space' | 'plain' | 'bad';

export interface Token {
  readonly kind: TokenKind;
  readonly from: number;
  readonly to: number;
}

export type TextKind = 'expression' | 'condition' | 'template';

export interface FunctionInfo {
  readonly name: string;
  readonly signature: string;
}

export const FUNCTIONS: readonly FunctionInfo[] = [
  { name: 'abs', signature: 'abs(x)' },
  { name: 'contains', signature: 'contains(x, y)' },
  { name: 'date', signature: 'date(x)' },
  { name: 'endsWith', signature: 'endsWith(x, y)' },
  { name: 'isNullOrEmpty', signature: 'isNullOrEmpty(x)' },
  { name: 'len', signature: 'len(x)' },
  { name: 'lower', signature: 'lower(x)' },
  { name: 'max', signature: 'max(a, b)' },
  { name: 'min', signature: 'min(a, b)' },
  { name: 'now', signature: 'now()' },
  { name: 'round', signature: 'round(x, digits)' },
  { name: 'startsWith', signature: 'startsWith(x, y)' },
  { name: 'toNumber', signature: 'toNumber(x)' },
  { name: 'toString', signature: 'toString(x)' },
  { name: 'trim', signature: 'trim(x)' },
  { name: 'upper', signature: 'upper(x)' },
];

const NAME = /[\p{L}_][\p{L}\p{Nd}_]*/uy;
const NUMBER = /\d[\d.]*/y;
const SPACE = /\s+/y;
const OPERATOR = /\|\||&&|[=!<>]=|[-+*/%!<>().,[\]]/y;
const TEXT = /'(?:[^'\\]|\\[\s\S])*(?:'|$)|"(?:[^"\\]|\\[\s\S])*(?:"|$)/y;

function match(pattern: RegExp, source: string, at: number): number {
  pattern.lastIndex = at;
  const found = pattern.exec(source);
  return found ? found[0].length : 0;
}

function nameKind(source: string, from: number, to: number, previous: Token | undefined): TokenKind {
  const word = source.slice(from, to);
  const member = previous !== undefined && source.slice(previous.from, previous.to) === '.';
  if (!member && (word === 'true' || word === 'false' || word === 'null')) return 'keyword';
  return /^\s*\(/.test(source.slice(to)) ? 'function' : 'name';
}

/** Tokens of an expression from one position to another. */
function expressionTokens(source: string, start: number, end: number): readonly Token[] {
  const tokens: Token[] = [];
  const part = source.slice(0, end);
  let at = start;
  let previous: Token | undefined;
  while (at < end) {
    const space = match(SPACE, part, at);
    const name = match(NAME, part, at);
    const number = match(NUMBER, part, at);
    const string = match(TEXT, part, at);
    const operator = match(OPERATOR, part, at);
    const length = space || name || number || string || operator || 1;
    let kind: TokenKind = 'bad';
    if (space) kind = 'space';
    else if (name) kind = nameKind(part, at, at + name, previous);
    else if (number) kind = 'number';
    else if (string) kind = 'text';
    else if (operator) kind = 'operator';
    const token = { kind, from: at, to: at + length };
    tokens.push(token);
    if (kind !== 'space') previous = token;
    at += length;
  }
  return tokens;
}

/** Where a placeholder that starts at `from` (behind its braces) ends: before `}}` outside of texts. */
function placeholderEnd(source: string, from: number): number {
  let at = from;
  while (at < source.length) {
    const string = match(TEXT, source, at);
    if (string) at += string;
    else if (source.startsWith('}}', at)) return at;
    else at += 1;
  }
  return source.length;
}

export interface Placeholder {
  readonly from: number;
  readonly to: number;
}

/** The expressions inside a template; of anything else the whole text. */
export function expressionParts(source: string, kind: TextKind): readonly Placeholder[] {
  if (kind !== 'template') return [{ from: 0, to: source.length }];
  const parts: Placeholder[] = [];
  let at = source.indexOf('{{');
  while (at >= 0) {
    const to = placeholderEnd(source, at + 2);
    parts.push({ from: at + 2, to });
    at = source.indexOf('{{', to);
  }
  return parts;
}

/** Every character of the source in one token, in order. */
export function tokens(source: string, kind: TextKind): readonly Token[] {
  if (kind !== 'template') return expressionTokens(source, 0, source.length);
  const out: Token[] = [];
  let at = 0;
  for (const { from, to } of expressionParts(source, kind)) {
    if (from - 2 > at) out.push({ kind: 'plain', from: at, to: from - 2 });
    out.push({ kind: 'operator', from: from - 2, to: from });
    out.push(...expressionTokens(source, from, to));
    at = Math.min(to + 2, source.length);
    if (at > to) out.push({ kind: 'operator', from: to, to: at });
  }
  if (at < source.length) out.push({ kind: 'plain', from: at, to: source.length });
  return out;
}

export interface Suggestion {
  readonly kind: 'variable' | 'function' | 'keyword';
  readonly name: string;
  /** What replaces the typed word. */
  readonly insert: string;
  /** Caret behind the inserted text, counted from its beginning. */
  readonly caret: number;
  readonly detail: string;
}

export interface KnownVariable {
  readonly name: string;
  readonly type: string;
  readonly origin: string;
}

export interface Completion {
  readonly from: number;
  readonly to: number;
  readonly word: string;
  readonly suggestions: readonly Suggestion[];
}

const MOST = 12;

function candidates(variables: readonly KnownVariable[]): readonly Suggestion[] {
  return [
    ...variables.map(({ name, type, origin }): Suggestion => {
      const detail = [type, origin].filter(Boolean).join(' · ');
      return { kind: 'variable', name, insert: name, caret: name.length, detail };
    }),
    ...FUNCTIONS.map(({ name, signature }): Suggestion => {
      const empty = signature.endsWith('()');
      return {
        kind: 'function',
        name,
        insert: `${name}()`,
        caret: name.length + (empty ? 2 : 1),
        detail: signature,
      };
    }),
    ...['true', 'false', 'null'].map(
      (name): Suggestion => ({ kind: 'keyword', name, insert: name, caret: name.length, detail: '' }),
    ),
  ];
}

function rank(name: string, word: string): number {
  if (name === word) return 3;
  if (name.startsWith(word)) return 0;
  if (name.toLowerCase().startsWith(word.toLowerCase())) return 1;
  return name.toLowerCase().includes(word.toLowerCase()) ? 2 : 4;
}

/**
 * What could stand at the caret; undefined where nothing is to be offered: outside a template's braces, in a text,
 * behind a point. Without a typed word only `all` (asked for by key) offers everything.
 */
export function complete(
  source: string,
  caret: number,
  kind: TextKind,
  variables: readonly KnownVariable[],
  all = false,
): Completion | undefined {
  if (!expressionParts(source, kind).some(({ from, to }) => caret >= from && caret <= to)) return undefined;
  const before = tokens(source, kind).filter((token) => token.from < caret);
  const last = before.at(-1);
  if (last?.kind === 'text' && caret <= last.to && !/^(['"])[\s\S]*\1$/.test(source.slice(last.from, caret))) {
    return undefined;
  }
  const inWord = last !== undefined && last.to >= caret && ['name', 'function', 'keyword'].includes(last.kind);
  const word = inWord ? source.slice(last.from, caret) : '';
  const previous = (inWord ? before.slice(0, -1) : before).filter((token) => token.kind !== 'space').at(-1);
  if (previous && source.slice(previous.from, previous.to) === '.') return undefined;
  if (!word && !all) return undefined;
  const ranked = candidates(variables)
    .map((each, order) => ({ each, order, rank: word ? rank(each.name, word) : 0 }))
    .filter((item) => item.rank < 3)
    .sort((a, b) => a.rank - b.rank || a.order - b.order);
  const suggestions = ranked.slice(0, MOST).map((item) => item.each);
  if (suggestions.length === 0) return undefined;
  return { from: inWord ? last.from : caret, to: inWord ? last.to : caret, word, suggestions };
}

/** Puts a suggestion in; a call that already has its parenthesis doesn't get a second one. */
export function accept(source: string, completion: Completion, chosen: Suggestion): { text: string; caret: number } {
  const called = chosen.kind === 'function' && /^\s*\(/.test(source.slice(completion.to));
  const insert = called ? chosen.name : chosen.insert;
  const text = source.slice(0, completion.from) + insert + source.slice(completion.to);
  return { text, caret: completion.from + (called ? chosen.name.length : chosen.caret) };
}
