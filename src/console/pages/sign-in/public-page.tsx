import { type ReactNode, useEffect } from 'react';
import { brand } from '../../lib/brand.ts';
import { Brand } from '../../ui/brand.tsx';
import './sign-in.css';

/** The frame of a page that needs no session. */
export function PublicPage({ title, children }: { title: string; children: ReactNode }) {
  useEffect(() => {
    document.title = `${title} · ${brand.name}`;
  }, [title]);
  return (
    <main className="sign-in">
      <p className="sign-in-brand">
        <Brand />
      </p>
      <h1>{title}</h1>
      {children}
    </main>
  );
}
