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

/** Whole days as a span of the calendar: a day on the clock, in a work calendar a working day, never 24 hours of it. */
export function toDays(amount: string, unit: Unit): string | undefined {
  const days = amount.trim();
  return unit === 'days' && /^[1-9]\d*$/.test(days) ? `P${days}D` : undefined;
}

/** The days of such a span; undefined for any other text. */
export function fromDays(span: string): string | undefined {
  return /^P([1-9]\d*)D$/.exec(span)?.[1];
}

/** The largest unit (up to the given one) that shows the seconds without a rest. */
export function fromSeconds(seconds: string, largest: Unit = 'days'): { readonly amount: string; readonly unit: Unit } {
  const parts = decimal(seconds);
  if (parts && parts.scale === 0 && parts.digits !== 0n) {
    for (const unit of ['days', 'hours', 'minutes'] as const) {
      if (FACTOR[unit] > FACTOR[largest]) continue;
      if (parts.digits % FACTOR[unit] === 0n) return { amount: (parts.digits / FACTOR[unit]).toString(), unit };
    }
  }
  return { amount: seconds, unit: 'seconds' };
}

export function describeSeconds(seconds: string, t: Translate): string {
  const { amount, unit } = fromSeconds(seconds);
  return t(`diagram.duration.${unit}`, { count: amount });
}
