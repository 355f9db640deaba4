import type { ReactNode } from 'react';
import { formatName } from '../lib/format.ts';
import type { Tone } from './notice.tsx';
import './badge.css';

/** The colour of each status. A status that is not listed is neutral. */
const TONES: Readonly<Record<string, Tone>> = {
  DELIVERED: 'good',
  PARTLY_FAILED: 'warn',
  SUCCESS: 'good',
  HEALTHY: 'good',
  ACTIVE: 'good',
  APPROVED: 'good',
  DONE: 'good',
  UP: 'good',
  RESOLVED: 'good',
  SENT: 'info',
  PRODUCTION: 'info',
  PENDING: 'warn',
  RETRYING: 'warn',
  EXPIRED: 'warn',
  STARTING: 'warn',
  DEGRADED: 'warn',
  OPEN: 'warn',
  FAILED: 'bad',
  REVOKED: 'bad',
  REJECTED: 'bad',
  DISABLED: 'bad',
  FAILING: 'bad',
  DOWN: 'bad',
};

/** Renders a status on its colour: its name, or the words given as children. */
export function Badge({ status, children }: { status: string; children?: ReactNode }) {
  const tone = TONES[status];
  return <span className={`badge ${tone ? `badge-${tone}` : ''}`}>{children ?? formatName(status)}</span>;
}
