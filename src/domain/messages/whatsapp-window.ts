/**
 * The **session window** of a number: the 24 hours after its last inbound message. In this time, free text may be sent
 * to the number (R25). A window belongs to one account (R205), and is between the person and one business number (R554).
 *
 * An inbound message to a number of an account belongs to that account (R553). One to the shared number belongs to the
 * account that last wrote to its sender from there, before it arrived. It opens only the window of that account. It
 * stays with this account even if another account writes later. If no account wrote to the sender, the message belongs
 * to no account.
 *
 * Only messages that the platform accepted count as written. Scheduled, failed and sandbox messages do not count.
 */
import type { AccountEnvironment } from '../caller.ts';
import { DomainError } from '../errors.ts';
import type { InboundStore } from '../ports/whatsapp.ts';

const SESSION_WINDOW_MS = 24 * 3_600_000;

/** The session window of a number for one account. `isOpen` is true while the account may send free text. */
export interface SessionWindow {
  readonly to: string;
  readonly isOpen: boolean;
  readonly lastInboundAt: Date | null;
  /** When the window closes or has closed. */
  readonly closesAt: Date | null;
}

/**
 * Returns the account's session window of an E.164 number at the time `at`, from the inbound messages stored so far to
 * the number that `provider` sends from. In the sandbox every window is closed (R200).
 */
export async function sessionWindow(
  inbound: Pick<InboundStore, 'lastFrom'>,
  { accountId, environment }: AccountEnvironment,
  to: string,
  at: Date,
  provider: string | undefined,
): Promise<SessionWindow> {
  const isClosed = environment === 'sandbox' || provider === undefined;
  const found = isClosed ? undefined : await inbound.lastFrom(accountId, provider, to);
  const lastInboundAt = found ?? null;
  const closesAt = lastInboundAt && new Date(lastInboundAt.getTime() + SESSION_WINDOW_MS);
  return { to, isOpen: closesAt !== null && closesAt > at, lastInboundAt, closesAt };
}

/** Returns the error for free text outside the session window. `from` is the account's own number, if it has one. */
export function windowClosed(
  { to, lastInboundAt, closesAt }: SessionWindow,
  from: string | undefined,
): DomainError {
  const why =
    lastInboundAt === null || closesAt === null
      ? `this account has received no message from ${to} yet${from === undefined ? '' : ` at its number ${from}`}`
      : `${to} sent this account the last message at ${lastInboundAt.toISOString()}, so until ${closesAt.toISOString()}`;
  return new DomainError(
    'session_window_closed',
    `Free text and media can be sent within 24 hours of the recipient's last message only, and ${why}. Send a template.`,
    { to, lastInboundAt: lastInboundAt?.toISOString() ?? null },
  );
}
