import { formatName } from '../lib/format.ts';
import type { Tone } from './notice.tsx';
import './badge.css';

/** Statuses of messages, deliveries, keys and webhooks; those not named here are neither good nor bad. */
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

/** A status as text on a colour that goes with it. */
export function Badge({ status }: { status: string }) {
  const tone = TONES[status];
  return <span className={`badge ${tone ? `badge-${tone}` : ''}`}>{formatName(status)}</span>;
}
