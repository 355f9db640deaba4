/**
 * The **window** of a number is the 24 hours after its last message in which free text may be sent to it (R25).
 * It belongs to one account. An inbound message belongs to the account whose message to its sender the platform had
 * taken last when the inbound message came, and opens the window of that account alone. It stays that account's when
 * another account writes later: that one gets a window with the next inbound message. A message of somebody whom
 * nobody wrote to belongs to nobody. What never left does not count: scheduled, failed and sandbox messages.
 */
import type { AccountEnvironment } from '../caller.ts';
import { DomainError } from '../errors.ts';
import type { InboundStore } from '../ports/whatsapp.ts';

/** Free text may be sent this long after the recipient's last message (R25). */
const SESSION_WINDOW_MS = 24 * 3_600_000;

/** Whether an account may send free text to a number. */
export interface SessionWindow {
  readonly to: string;
  readonly isOpen: boolean;
  readonly lastInboundAt: Date | null;
  /** When it closes, or closed. */
  readonly closesAt: Date | null;
}

/**
 * The account's window of a number in E.164 as it is at a time, by what has come from the number so far. People write to
 * production only, so in the sandbox every window is closed.
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
