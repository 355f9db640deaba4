import type { ReactNode } from 'react';
import './notice.css';

export type Tone = 'info' | 'good' | 'warn' | 'bad';

/** A note in the page. Screen readers announce a bad one when it appears. */
export function Notice({ tone = 'info', children }: { tone?: Tone; children: ReactNode }) {
  return (
    <div className={`notice notice-${tone}`} role={tone === 'bad' ? 'alert' : 'status'}>
      {children}
    </div>
  );
}
