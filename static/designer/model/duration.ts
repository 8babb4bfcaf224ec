/** Seconds in the unit people think in. Exact: the digits never pass through a binary number. */
import type { Translate } from './describe';
import { LosslessNumber, numberFromText } from './json';

export const UNITS = ['seconds', 'minutes', 'hours', 'days'] as const;
export type Unit = (typeof UNITS)[number];

const FACTOR: Readonly<Record<Unit, bigint>> = { seconds: 1n, minutes: 60n, hours: 3600n, days: 86400n };

/** A decimal without exponent as digits and the number of digits behind the point. */
function decimal(value: string): { digits: bigint; scale: number } | undefined {
  const match = /^(-?)(\d+)(?:\.(\d+))?$/.exec(value);
  if (!match) return undefined;
  const behind = match[3] ?? '';
  return { digits: BigInt(`${match[1]}${match[2]}${behind}`), scale: behind.length };
}

function written(digits: bigint, scale: number): string {
  if (scale === 0) return digits.toString();
  const sign = digits < 0n ? '-' : '';
  const all = (digits < 0n ? -digits : digits).toString().padStart(scale + 1, '0');
  const behind = all.slice(-scale).replace(/0+$/, '');
  return sign + all.slice(0, -scale) + (behind ? `.${behind}` : '');
}

/** Seconds of an amount in a unit; undefined when the text is no number. */
export function toSeconds(amount: string, unit: Unit): LosslessNumber | undefined {
  const number = numberFromText(amount);
  if (!number) return undefined;
  const parts = decimal(number.value);
  if (!parts) return unit === 'seconds' ? number : undefined;
  return unit === 'seconds' ? number : new LosslessNumber(written(parts.digits * FACTOR[unit], parts.scale));
}

/** The largest unit that shows the seconds without a rest. */
export function fromSeconds(seconds: string): { readonly amount: string; readonly unit: Unit } {
  const parts = decimal(seconds);
  if (parts && parts.scale === 0 && parts.digits !== 0n) {
    for (const unit of ['days', 'hours', 'minutes'] as const) {
      if (parts.digits % FACTOR[unit] === 0n) return { amount: (parts.digits / FACTOR[unit]).toString(), unit };
    }
  }
  return { amount: seconds, unit: 'seconds' };
}

export function describeSeconds(seconds: string, t: Translate): string {
  const { amount, unit } = fromSeconds(seconds);
  return t(`diagram.duration.${unit}`, { count: amount });
}
