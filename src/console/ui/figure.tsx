import type { ReactNode } from 'react';

/** One number of a page, in a `<dl className="figures">`: its name, the number, and a note about it. */
export function Figure({ name, note, children }: { name: string; note?: ReactNode; children: ReactNode }) {
  return (
    <div className="card">
      <dt className="quiet">{name}</dt>
      <dd className="figure-value">{children}</dd>
      {note && <dd className="quiet">{note}</dd>}
    </div>
  );
}
