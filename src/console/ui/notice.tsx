import type { ReactNode } from 'react';
import './notice.css';

export type Tone = 'info' | 'good' | 'warn' | 'bad';

/** Something to know, in place. A bad one is read out when it appears. */
export function Notice({ tone = 'info', children }: { tone?: Tone; children: ReactNode }) {
  return (
    <div className={`notice notice-${tone}`} role={tone === 'bad' ? 'alert' : 'status'}>
      {children}
    </div>
  );
}
