import type { Outgoing, OutgoingRecipient, PreparedMessage } from '../../domain/messages/message.ts';
import type { NewJob } from '../../domain/ports/job-queue.ts';

interface Gathered {
  readonly routeKey: string;
  readonly startAfter: Date | null;
  readonly messageIds: string[];
  readonly positions: Record<string, number[]>;
  readonly prefetched: Outgoing[];
}

/**
 * Returns one job for each route and due time in the batch. If a message has several routes, each job lists the
 * positions of its recipients.
 */
export function submitJobs(messages: readonly PreparedMessage[]): NewJob<'submit'>[] {
  const jobs = new Map<string, Gathered>();
  for (const message of messages) {
    if (message.environment === 'sandbox') continue;
    const startAfter = message.scheduledFor;
    const routeKeys: string[] = [];
    for (const { routeKey } of message.recipients)
      if (!routeKeys.includes(routeKey)) routeKeys.push(routeKey);
    for (const routeKey of routeKeys) {
      const recipients = message.recipients.flatMap((recipient, position): OutgoingRecipient[] =>
        recipient.routeKey === routeKey
          ? // Intake stores these recipients as claimed: a worker submits them, and they cannot be canceled.
            [{ messageId: message.id, position, address: recipient.address, isClaimed: true }]
          : [],
      );
      const key = `${routeKey} ${startAfter?.getTime() ?? ''}`;
      const entry = jobs.get(key) ?? { routeKey, startAfter, messageIds: [], positions: {}, prefetched: [] };
      jobs.set(key, entry);
      entry.messageIds.push(message.id);
      if (routeKeys.length > 1) entry.positions[message.id] = recipients.map(({ position }) => position);
      // A scheduled message is not passed along with its job: the worker reads it from the database when it is due.
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
  const { createdAt, scheduledFor, expiresAt } = message;
  return {
    message: {
      id,
      accountId,
      channel,
      purpose,
      from,
      content,
      payload,
      createdAt,
      scheduledFor,
      expiresAt,
    },
    recipients,
  };
}
