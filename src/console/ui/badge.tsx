import { formatName } from '../lib/format.ts';
import type { Tone } from './notice.tsx';
import './badge.css';

/** Tones of statuses; a status without one is neutral. */
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

/** A status as text on a matching colour. */
export function Badge({ status }: { status: string }) {
  const tone = TONES[status];
  return <span className={`badge ${tone ? `badge-${tone}` : ''}`}>{formatName(status)}</span>;
}
