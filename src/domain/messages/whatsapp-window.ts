/**
 * The **window** of a number: the 24 hours after its last message, in which free text may be sent to it (R25). It
 * belongs to one account (R205).
 *
 * An inbound message belongs to the account whose message to that number the platform accepted last before it
 * arrived, and opens only that account's window. It stays with this account when another account writes later. An
 * inbound message from a number that no account wrote to belongs to none. Scheduled, failed and sandbox messages do
 * not count, because the platform did not accept them.
 */
import type { AccountEnvironment } from '../caller.ts';
import { DomainError } from '../errors.ts';
import type { InboundStore } from '../ports/whatsapp.ts';

const SESSION_WINDOW_MS = 24 * 3_600_000;

/** Whether an account may send free text to a number. */
export interface SessionWindow {
  readonly to: string;
  readonly isOpen: boolean;
  readonly lastInboundAt: Date | null;
  /** When it closes or closed. */
  readonly closesAt: Date | null;
}

/**
 * The account's window of an E.164 number at a time, from the inbound messages stored so far. In the sandbox every
 * window is closed (R200).
 */
export async function sessionWindow(
  inbound: Pick<InboundStore, 'lastFrom'>,
  { accountId, environment }: AccountEnvironment,
  to: string,
  at: Date,
): Promise<SessionWindow> {
  const isSandbox = environment === 'sandbox';
  const found = isSandbox ? undefined : await inbound.lastFrom(accountId, 'whatsapp', to);
  const lastInboundAt = found ?? null;
  const closesAt = lastInboundAt && new Date(lastInboundAt.getTime() + SESSION_WINDOW_MS);
  return { to, isOpen: closesAt !== null && closesAt > at, lastInboundAt, closesAt };
}

/** The refusal of free text outside the window. */
export function windowClosed({ to, lastInboundAt, closesAt }: SessionWindow): DomainError {
  const why =
    lastInboundAt === null || closesAt === null
      ? `this account has received no message from ${to} yet`
      : `${to} sent this account the last message at ${lastInboundAt.toISOString()}, so until ${closesAt.toISOString()}`;
  return new DomainError(
    'session_window_closed',
    `Free text and media can be sent within 24 hours of the recipient's last message only, and ${why}. Send a template.`,
    { to, lastInboundAt: lastInboundAt?.toISOString() ?? null },
  );
}
