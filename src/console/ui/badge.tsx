import { formatName } from '../lib/format.ts';
import type { Tone } from './notice.tsx';
import './badge.css';

/** The colour of each status. A status that is not listed is neutral. */
const TONES: Readonly<Record<string, Tone>> = {
  DELIVERED: 'good',
  SUCCESS: 'good',
  ACTIVE: 'good',
  DONE: 'good',
  UP: 'good',
  SENT: 'info',
  PRODUCTION: 'info',
  PENDING: 'warn',
  RETRYING: 'warn',
  EXPIRED: 'warn',
  STARTING: 'warn',
  DEGRADED: 'warn',
  FAILED: 'bad',
  REVOKED: 'bad',
  DISABLED: 'bad',
  FAILING: 'bad',
  DOWN: 'bad',
};

/** Renders a status as text on its colour. */
export function Badge({ status }: { status: string }) {
  const tone = TONES[status];
  return <span className={`badge ${tone ? `badge-${tone}` : ''}`}>{formatName(status)}</span>;
}
