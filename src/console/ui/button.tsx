import type { ComponentProps, MouseEvent, ReactNode } from 'react';
import { Link } from 'wouter';
import { useInEnvironment } from '../lib/environment.ts';
import './button.css';

type Look = 'primary' | 'plain' | 'danger' | 'quiet';

/** The second click of a double click: whoever makes it saw nothing of what the first did. */
export function isRepeated(event: MouseEvent): boolean {
  return event.detail > 1;
}

/**
 * A button. While `isBusy` it keeps its place in the tab order, says so and does nothing. One that submits or can be
 * busy asks something of the gateway: a double click asks it once. By keyboard nothing is held back (`detail` is 0).
 */
export function Button({
  look = 'plain',
  isBusy,
  type = 'button',
  onClick,
  className = '',
  children,
  ...rest
}: Omit<ComponentProps<'button'>, 'disabled'> & { look?: Look; isBusy?: boolean }) {
  const isActing = type === 'submit' || isBusy !== undefined;
  return (
    <button
      {...rest}
      type={type}
      className={`button button-${look} ${className}`}
      aria-disabled={isBusy ?? false}
      aria-busy={isBusy ?? false}
      onClick={(event) => {
        if (isBusy || (isActing && isRepeated(event))) event.preventDefault();
        else onClick?.(event);
      }}
    >
      {children}
      {isBusy && <span aria-hidden="true">…</span>}
    </button>
  );
}

/** A link to a page of the console that looks like a button; the environment that is looked at stays. */
export function ButtonLink({
  href,
  look = 'plain',
  children,
}: {
  href: string;
  look?: Look;
  children: ReactNode;
}) {
  const inEnvironment = useInEnvironment();
  return (
    <Link href={inEnvironment(href)} className={`button button-${look}`}>
      {children}
    </Link>
  );
}
