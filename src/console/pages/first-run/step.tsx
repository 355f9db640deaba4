import { type ReactNode, useEffect, useId, useRef } from 'react';
import { Badge } from '../../ui/badge.tsx';

/**
 * One of the four steps: its description, state, button and the same as a command. When it was done here, the button
 * disappears and its heading gets the focus, because the result (such as a key shown once) is below.
 */
export function Step({
  number,
  title,
  isDone,
  isDoneHere = false,
  children,
  commands,
}: {
  number: number;
  title: string;
  isDone: boolean;
  /** True if this page did it just now. */
  isDoneHere?: boolean;
  children: ReactNode;
  commands: ReactNode;
}) {
  const id = useId();
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    if (isDoneHere && document.activeElement === document.body) heading.current?.focus();
  }, [isDoneHere]);
  return (
    <section className="card stack first-run-step" aria-labelledby={id} data-done={isDone}>
      <div className="row first-run-title">
        <span className="first-run-number" aria-hidden="true">
          {isDone ? '✓' : number}
        </span>
        <h2 id={id} ref={heading} tabIndex={-1}>
          <span className="visually-hidden">Step {number}: </span>
          {title}
        </h2>
        <Badge status={isDone ? 'DONE' : 'TO_DO'} />
      </div>
      <div className="first-run-ways">
        <div className="stack">{children}</div>
        <div className="stack first-run-commands">
          <h3>Or from a shell</h3>
          {commands}
        </div>
      </div>
    </section>
  );
}
