/** Texts in the reader's language: the diagram's own come with the bundle, the designer's with the page. */
import english from '../../../webapp/messages/en/diagram.json';
import chinese from '../../../webapp/messages/zh/diagram.json';
import type { Translate, Words } from '../model/describe';

type Message = string | { readonly one?: string; readonly other: string };
export type Messages = Readonly<Record<string, Message>>;

export function isChinese(): boolean {
  return document.documentElement.lang.toLowerCase().startsWith('zh');
}

const LETTER = /[\p{L}\p{N}]/u;
const HAN = /\p{Script=Han}/u;

/** Chinese and Latin letters or digits stand a space apart, Chinese and Chinese do not. */
function gap(left: string | undefined, right: string | undefined): string {
  if (!left || !right || !LETTER.test(left) || !LETTER.test(right)) return '';
  return HAN.test(left) === HAN.test(right) ? '' : ' ';
}

/** Fills in a text's {placeholders}; in Chinese the space beside each depends on what is filled in. */
export function fill(pattern: string, args: Readonly<Record<string, unknown>>, zh: boolean): string {
  return pattern.replace(/(.?)\{(\w+)(?::\w+)?\}(?=(.?))/gsu, (whole, before: string, name: string, after: string) => {
    const given = args[name] ?? undefined;
    if (given === undefined) return whole;
    const value = String(given);
    if (!zh) return before + value;
    return before + gap(before, [...value][0]) + value + gap([...value].at(-1), after);
  });
}

/** A function that fills in texts; an unknown key shows itself, because one odd word is better than no page. */
export function translator(page: Messages = {}): Translate {
  const zh = isChinese();
  const known: Messages = { ...english, ...(zh ? chinese : {}), ...page };
  return (key, args = {}) => {
    const message = known[key];
    if (message === undefined) return key;
    const single = !zh && typeof message !== 'string' && String(args.count) === '1';
    const pattern = typeof message === 'string' ? message : ((single ? message.one : undefined) ?? message.other);
    return fill(pattern, args, zh);
  };
}

/** Words of the diagram: outcomes that everybody knows have a title, others stand as they are. */
export function words(t: Translate): Words {
  return {
    t,
    outcome: (label) => {
      const key = `diagram.outcome.${label}`;
      const title = t(key);
      return title === key ? label : title;
    },
  };
}
