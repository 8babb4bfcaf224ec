/** How wide text is before anything is drawn, and how it is shortened to fit a node. */

/** Full-width characters count double: Chinese, kana, Hangul, full-width forms. */
function isWide(character: string): boolean {
  const code = character.codePointAt(0) ?? 0;
  return (
    (code >= 0x1100 && code <= 0x115f) ||
    (code >= 0x2e80 && code <= 0xa4cf) ||
    (code >= 0xac00 && code <= 0xd7a3) ||
    (code >= 0xf900 && code <= 0xfaff) ||
    (code >= 0xfe30 && code <= 0xfe6f) ||
    (code >= 0xff00 && code <= 0xff60) ||
    (code >= 0x1f300 && code <= 0x1faff) ||
    (code >= 0x20000 && code <= 0x3fffd)
  );
}

/** Width in Latin characters. */
export function textUnits(value: string): number {
  let units = 0;
  for (const character of value) units += isWide(character) ? 5 / 3 : 1;
  return units;
}

/** The text, or its beginning and an ellipsis when it is wider than this many Latin characters. */
export function ellipse(value: string, units: number): string {
  if (textUnits(value) <= units) return value;
  let out = '';
  let used = 1;
  for (const character of value) {
    used += isWide(character) ? 5 / 3 : 1;
    if (used > units) break;
    out += character;
  }
  return `${out.trimEnd()}…`;
}
