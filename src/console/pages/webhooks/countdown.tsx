import { useEffect, useState } from 'react';
import { formatZones } from '../../lib/format.ts';
import { t } from '../../lib/words.ts';

const TICK_MS = 1_000;

/** Counts down to the time `to`, such as `in 12 s`, and then shows `due now`. */
export function Countdown({ to }: { to: string }) {
  const [nowMs, setNowMs] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNowMs(Date.now()), TICK_MS);
    return () => clearInterval(timer);
  }, []);
  const at = new Date(to);
  const seconds = Math.ceil((at.getTime() - nowMs) / 1_000);
  const text = seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  return (
    <time dateTime={to} title={formatZones(at)}>
      {seconds <= 0 ? t('due now') : t('in {text}', { text })}
    </time>
  );
}
