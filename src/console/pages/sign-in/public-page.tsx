import { type ReactNode, useEffect } from 'react';
import './sign-in.css';

/** The frame of a page that needs no session. */
export function PublicPage({ title, children }: { title: string; children: ReactNode }) {
  useEffect(() => {
    document.title = `${title} · Messaging gateway`;
  }, [title]);
  return (
    <main className="sign-in">
      <h1>{title}</h1>
      {children}
    </main>
  );
}
