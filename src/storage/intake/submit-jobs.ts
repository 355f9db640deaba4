import type { Outgoing, OutgoingRecipient, PreparedMessage } from '../../domain/messages/message.ts';
import type { NewJob } from '../../domain/ports/job-queue.ts';

interface Gathered {
  readonly routeKey: string;
  readonly startAfter: Date | null;
  readonly messageIds: string[];
  readonly positions: Record<string, number[]>;
  readonly prefetched: Outgoing[];
}

/** The recipients of a message that one job submits: those of a route that are due at the same time. */
interface Part {
  readonly routeKey: string;
  /** Null: at once. */
  readonly startAfter: Date | null;
}

function isPart(part: Part, routeKey: string, startAfter: Date | null): boolean {
  return part.routeKey === routeKey && part.startAfter?.getTime() === startAfter?.getTime();
}

/**
 * Returns one job for each route and due time in the batch. If a message has several jobs, each lists the positions of
 * its recipients.
 */
export function submitJobs(messages: readonly PreparedMessage[]): NewJob<'submit'>[] {
  const jobs = new Map<string, Gathered>();
  for (const message of messages) {
    if (message.environment === 'sandbox' || message.review !== null) continue;
    const parts: Part[] = [];
    for (const { routeKey, heldUntil } of message.recipients) {
      const startAfter = heldUntil ?? message.scheduledFor;
      if (!parts.some((part) => isPart(part, routeKey, startAfter))) parts.push({ routeKey, startAfter });
    }
    for (const { routeKey, startAfter } of parts) {
      const recipients = message.recipients.flatMap((recipient, position): OutgoingRecipient[] => {
        const { address, heldUntil } = recipient;
        return isPart({ routeKey, startAfter }, recipient.routeKey, heldUntil ?? message.scheduledFor)
          ? // Intake stores these recipients as claimed: a worker submits them, and they cannot be canceled.
            [{ messageId: message.id, position, address, isClaimed: true, heldUntil }]
          : [];
      });
      const key = `${routeKey} ${startAfter?.getTime() ?? ''}`;
      const entry = jobs.get(key) ?? { routeKey, startAfter, messageIds: [], positions: {}, prefetched: [] };
      jobs.set(key, entry);
      entry.messageIds.push(message.id);
      if (parts.length > 1) entry.positions[message.id] = recipients.map(({ position }) => position);
      // A message that waits is not passed along with its job: the worker reads it from the database when it is due.
      if (!startAfter) entry.prefetched.push(outgoing(message, recipients));
    }
  }
  return [...jobs.values()].map(({ routeKey, startAfter, messageIds, positions, prefetched }) => ({
    queue: 'submit',
    routeKey,
    data: { messageIds, positions, attempt: 0 },
    ...(startAfter ? { startAfter } : { prefetched }),
  }));
}

/** Returns the message in the form in which a worker would read it from the database. */
function outgoing(message: PreparedMessage, recipients: readonly OutgoingRecipient[]): Outgoing {
  const { id, accountId, channel, purpose, from, content, payload } = message;
  const { apiKeyId, userId, createdAt, scheduledFor, expiresAt } = message;
  return {
    message: {
      id,
      accountId,
      channel,
      purpose,
      from,
      content,
      payload,
      apiKeyId,
      userId,
      createdAt,
      scheduledFor,
      expiresAt,
    },
    recipients,
  };
}
