import { type ReactNode, useEffect, useId, useRef } from 'react';
import { t } from '../../lib/words.ts';
import { Badge } from '../../ui/badge.tsx';

/**
 * One of the four steps, with a description, a state, a button and the same action as code. After the person
 * has used the button, it disappears and the heading gets the focus. The result, such as a key that is shown once, is
 * below the heading.
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
  /** True if the step was done on this page since it was opened. */
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
          <span className="visually-hidden">{t('Step {number}:', { number })} </span>
          {title}
        </h2>
        <Badge status={isDone ? 'DONE' : 'TO_DO'} />
      </div>
      <div className="first-run-ways">
        <div className="stack">{children}</div>
        <div className="stack first-run-commands">
          <h3>{t('Or with code')}</h3>
          {commands}
        </div>
      </div>
    </section>
  );
}
