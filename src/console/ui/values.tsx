import { Fragment, type ReactNode, useSyncExternalStore } from 'react';
import { formatAbsolute, formatMoney, formatRelative, formatZones } from '../lib/format.ts';
import { t } from '../lib/words.ts';
import './values.css';

const TICK_MS = 30_000;

export function Money({ amount, currency }: { amount: number; currency: string }) {
  return <span className="money">{formatMoney(amount, currency)}</span>;
}

let nowMs = Date.now();
/** Subscribes to the clock, so that relative times on the page are updated. */
function onTick(listener: () => void): () => void {
  const timer = setInterval(() => {
    nowMs = Date.now();
    listener();
  }, TICK_MS);
  return () => clearInterval(timer);
}

/** Shows `at` as a relative time, with the exact time on hover, in the person's time zone and in UTC. Shows `otherwise` when `at` is null. */
export function Time({ at, otherwise = t('never') }: { at: string | null; otherwise?: string }) {
  useSyncExternalStore(onTick, () => nowMs);
  if (at === null) return <span className="quiet">{otherwise}</span>;
  const time = new Date(at);
  return (
    <time dateTime={at} title={formatZones(time)}>
      {formatRelative(time, new Date())}
    </time>
  );
}

/** Shows a time in the person's time zone, with UTC on hover. */
export function ExactTime({ at }: { at: string }) {
  const time = new Date(at);
  return (
    <time dateTime={at} title={formatZones(time)}>
      {formatAbsolute(time)}
    </time>
  );
}

/** Shows names and their values as a description list. */
export function KeyValues({ items }: { items: readonly (readonly [name: string, value: ReactNode])[] }) {
  return (
    <dl className="key-values">
      {items.map(([name, value]) => (
        <Fragment key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </Fragment>
      ))}
    </dl>
  );
}
