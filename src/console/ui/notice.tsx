import type { ReactNode } from 'react';
import './notice.css';

export type Tone = 'info' | 'good' | 'warn' | 'bad';

/** A note on a page. Screen readers announce a note with the tone `bad` at once. */
export function Notice({ tone = 'info', children }: { tone?: Tone; children: ReactNode }) {
  return (
    <div className={`notice notice-${tone}`} role={tone === 'bad' ? 'alert' : 'status'}>
      {children}
    </div>
  );
}
