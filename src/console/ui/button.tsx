import type { ComponentProps, MouseEvent, ReactNode } from 'react';
import { Link } from 'wouter';
import { useInEnvironment } from '../lib/environment.ts';
import './button.css';

type Look = 'primary' | 'plain' | 'danger' | 'quiet';

/** True for the second click of a double click. The person has not seen the effect of the first click yet. */
export function isRepeated(event: MouseEvent): boolean {
  return event.detail > 1;
}

/**
 * A button. While `isBusy`, it can be focused, is announced as busy and does nothing. While `isDisabled`, it can be
 * focused too, so that it keeps the focus, and does nothing. A button that submits or can be busy ignores the second
 * click of a double click. A key press is never ignored, because its `detail` is 0.
 */
export function Button({
  look = 'plain',
  isBusy,
  isDisabled = false,
  type = 'button',
  onClick,
  className = '',
  children,
  ...rest
}: Omit<ComponentProps<'button'>, 'disabled'> & {
  look?: Look;
  isBusy?: boolean;
  isDisabled?: boolean;
}) {
  const isActing = type === 'submit' || isBusy !== undefined;
  return (
    <button
      {...rest}
      type={type}
      className={`button button-${look} ${className}`}
      aria-disabled={isBusy || isDisabled}
      aria-busy={isBusy ?? false}
      onClick={(event) => {
        if (isBusy || isDisabled || (isActing && isRepeated(event))) event.preventDefault();
        else onClick?.(event);
      }}
    >
      {children}
      {isBusy && <span aria-hidden="true">…</span>}
    </button>
  );
}

/** A link to a page of the console, styled as a button. It keeps the current environment. */
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
