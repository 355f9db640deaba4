import type { ComponentProps, ReactNode } from 'react';
import { Link } from 'wouter';
import './button.css';

type Look = 'primary' | 'plain' | 'danger' | 'quiet';

/** A button. While `isBusy` it keeps its place in the tab order, says so and does nothing. */
export function Button({
  look = 'plain',
  isBusy = false,
  type = 'button',
  onClick,
  className = '',
  children,
  ...rest
}: Omit<ComponentProps<'button'>, 'disabled'> & { look?: Look; isBusy?: boolean }) {
  return (
    <button
      {...rest}
      type={type}
      className={`button button-${look} ${className}`}
      aria-disabled={isBusy}
      aria-busy={isBusy}
      onClick={isBusy ? (event) => event.preventDefault() : onClick}
    >
      {children}
      {isBusy && <span aria-hidden="true">…</span>}
    </button>
  );
}

/** A link to a page of the console that looks like a button. */
export function ButtonLink({
  href,
  look = 'plain',
  children,
}: {
  href: string;
  look?: Look;
  children: ReactNode;
}) {
  return (
    <Link href={href} className={`button button-${look}`}>
      {children}
    </Link>
  );
}
