/** Texts that a script shows; the server puts them on the body, in the reader's language. */

const texts: Record<string, string> = JSON.parse(document.body.dataset.messages ?? '{}');

/** The text of a key with its {placeholders} filled in; the key itself when there is none. */
export function text(key: string, args: Record<string, string | number> = {}): string {
  const pattern = texts[key] ?? key;
  return pattern.replace(/\{(\w+)\}/g, (whole, name: string) => String(args[name] ?? whole));
}
