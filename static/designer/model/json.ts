/** JSON of definitions: numbers keep the digits they were written with, so that opening and saving changes nothing. */
import { isLosslessNumber, LosslessNumber, parse, stringify } from 'lossless-json';

export type JsonValue = null | boolean | string | LosslessNumber | readonly JsonValue[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: JsonValue | undefined;
}

export { isLosslessNumber, LosslessNumber };

/** Reads JSON text; throws a SyntaxError that names the position. */
export function parseJson(text: string): JsonValue {
  return parse(text) as JsonValue;
}

/** Writes JSON text; members that are undefined are left out. */
export function writeJson(value: unknown, indent?: number): string {
  return stringify(value, undefined, indent) ?? 'null';
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !isLosslessNumber(value);
}

export function isList(value: unknown): value is readonly JsonValue[] {
  return Array.isArray(value);
}

/** A whole number as the document writes it. */
export function whole(value: number): LosslessNumber {
  return new LosslessNumber(String(Math.round(value)));
}

/** What a JSON number is in geometry: close enough for pixels, never for values. */
export function toPixels(value: JsonValue | undefined): number | undefined {
  if (!isLosslessNumber(value)) return undefined;
  const pixels = Number(value.value);
  return Number.isFinite(pixels) ? pixels : undefined;
}

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** Turns what a person typed into a JSON number with the same digits, or undefined when it is none. */
export function numberFromText(text: string): LosslessNumber | undefined {
  const trimmed = text.trim().replace(/^\+/, '');
  return NUMBER.test(trimmed) ? new LosslessNumber(trimmed) : undefined;
}

/** Equal as JSON: numbers by their digits, members in any order. */
export function sameJson(a: JsonValue | undefined, b: JsonValue | undefined): boolean {
  if (a === b) return true;
  if (isLosslessNumber(a)) return isLosslessNumber(b) && a.value === b.value;
  if (isList(a)) return isList(b) && a.length === b.length && a.every((item, i) => sameJson(item, b[i]));
  if (!isObject(a) || !isObject(b)) return false;
  const left = Object.keys(a).filter((key) => a[key] !== undefined);
  const right = Object.keys(b).filter((key) => b[key] !== undefined);
  return left.length === right.length && left.every((key) => Object.hasOwn(b, key) && sameJson(a[key], b[key]));
}

/** Where a text stops being JSON, as line and column from 1; undefined when it is JSON. */
export function jsonProblem(text: string): { line: number; column: number } | undefined {
  try {
    parseJson(text);
    return undefined;
  } catch (error) {
    const found = /position (\d+)/.exec(error instanceof Error ? error.message : '');
    const offset = found ? Number(found[1]) : text.length;
    const before = text.slice(0, offset).split('\n');
    return { line: before.length, column: (before.at(-1) ?? '').length + 1 };
  }
}
