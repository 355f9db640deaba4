import { language, t } from '../../lib/words.ts';
import type { UsageInterval } from './overview.generated.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const hour = new Intl.DateTimeFormat(language, { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
const day = new Intl.DateTimeFormat(language, { day: 'numeric', month: 'short', timeZone: 'UTC' });

interface PeriodKind {
  readonly value: string;
  readonly label: string;
  readonly interval: Exclude<UsageInterval, 'MONTH'>;
  /** Number of hours or days in the period. The current hour or day counts. */
  readonly length: number;
}

export const PERIODS = [
  { value: '24h', label: t('24 hours'), interval: 'HOUR', length: 24 },
  { value: '7d', label: t('7 days'), interval: 'DAY', length: 7 },
  { value: '30d', label: t('30 days'), interval: 'DAY', length: 30 },
] as const satisfies readonly PeriodKind[];
export type PeriodName = (typeof PERIODS)[number]['value'];

/** A range of whole hours or whole days in UTC. It ends with the current hour or day. */
export interface Period {
  readonly interval: PeriodKind['interval'];
  readonly from: string;
  readonly to: string;
  /** Start and label of each hour or day. Labels of hours are in the browser's time zone, those of days in UTC. */
  readonly slots: readonly { readonly at: string; readonly label: string }[];
}

/**
 * Returns the period with this name at the time `now`. The result only changes with the next hour or day, so the query
 * stays cached.
 */
export function periodOf(name: PeriodName, now: Date): Period {
  const { interval, length } = PERIODS.find(({ value }) => value === name)!;
  const stepMs = interval === 'HOUR' ? HOUR_MS : DAY_MS;
  const format = interval === 'HOUR' ? hour : day;
  const end = (Math.floor(now.getTime() / stepMs) + 1) * stepMs;
  const slots = Array.from({ length }, (_, index) => {
    const at = new Date(end - (length - index) * stepMs);
    return { at: at.toISOString(), label: format.format(at) };
  });
  return { interval, from: slots[0]!.at, to: new Date(end).toISOString(), slots };
}

/** Returns the last 7 × 24 hours, up to the end of the current hour. */
export function lastWeek(now: Date): { readonly from: string; readonly to: string } {
  const end = (Math.floor(now.getTime() / HOUR_MS) + 1) * HOUR_MS;
  return { from: new Date(end - 7 * DAY_MS).toISOString(), to: new Date(end).toISOString() };
}

/** Returns how many days a balance lasts at the cost of the last seven days. Undefined if that cost was 0. */
export function daysLeft(balance: number, costOfWeek: number): number | undefined {
  return costOfWeek > 0 ? (balance * 7) / costOfWeek : undefined;
}
