import { DomainError } from '../errors.ts';
import type { InboundStore } from '../ports/inbound-store.ts';

/** Free text may be sent this long after the recipient's last message (decision 25). */
const SESSION_WINDOW_MS = 24 * 3_600_000;

/** Whether free text may be sent to a number. */
export interface SessionWindow {
  readonly to: string;
  readonly isOpen: boolean;
  readonly lastInboundAt: Date | null;
  /** When it closes, or closed. */
  readonly closesAt: Date | null;
}

/** The window of a number in E.164 as it is at a time, by what has come from the number so far. */
export async function sessionWindow(
  inbound: Pick<InboundStore, 'lastFrom'>,
  to: string,
  at: Date,
): Promise<SessionWindow> {
  const lastInboundAt = (await inbound.lastFrom('whatsapp', to)) ?? null;
  const closesAt = lastInboundAt && new Date(lastInboundAt.getTime() + SESSION_WINDOW_MS);
  return { to, isOpen: closesAt !== null && closesAt > at, lastInboundAt, closesAt };
}

/** The refusal of free text outside the window. */
export function windowClosed({ to, lastInboundAt, closesAt }: SessionWindow): DomainError {
  const why =
    lastInboundAt === null || closesAt === null
      ? `${to} has sent no message yet`
      : `${to} sent the last message at ${lastInboundAt.toISOString()}, so until ${closesAt.toISOString()}`;
  return new DomainError(
    'session_window_closed',
    `Free text and media can be sent within 24 hours of the recipient's last message only, and ${why}. Send a template.`,
    { to, lastInboundAt: lastInboundAt?.toISOString() ?? null },
  );
}
