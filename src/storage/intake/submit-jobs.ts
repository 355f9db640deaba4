import type { Outgoing, OutgoingRecipient, PreparedMessage } from '../../domain/messages/message.ts';
import type { NewJob } from '../../domain/ports/job-queue.ts';

interface Gathered {
  readonly group: string;
  readonly startAfter: Date | null;
  readonly messageIds: string[];
  readonly positions: Record<string, number[]>;
  readonly known: Outgoing[];
}

/** One job for each route and due time in the batch; a message over several routes names its positions. */
export function submitJobs(messages: readonly PreparedMessage[]): NewJob<'submit'>[] {
  const jobs = new Map<string, Gathered>();
  for (const message of messages) {
    if (message.environment === 'sandbox') continue;
    const startAfter = message.scheduledFor;
    const groups: string[] = [];
    for (const { group } of message.recipients) if (!groups.includes(group)) groups.push(group);
    for (const group of groups) {
      const recipients = message.recipients.flatMap((recipient, position): OutgoingRecipient[] =>
        recipient.group === group
          ? // What is due at once is claimed from birth.
            [{ messageId: message.id, position, address: recipient.address, isClaimed: true }]
          : [],
      );
      const key = `${group} ${startAfter?.getTime() ?? ''}`;
      const entry = jobs.get(key) ?? { group, startAfter, messageIds: [], positions: {}, known: [] };
      jobs.set(key, entry);
      entry.messageIds.push(message.id);
      if (groups.length > 1) entry.positions[message.id] = recipients.map(({ position }) => position);
      // What is due later is read when its time has come.
      if (!startAfter) entry.known.push(outgoing(message, recipients));
    }
  }
  return [...jobs.values()].map(({ group, startAfter, messageIds, positions, known }) => ({
    queue: 'submit',
    group,
    data: { messageIds, positions, attempt: 0 },
    ...(startAfter ? { startAfter } : { known }),
  }));
}

/** The message as a worker would read it. */
function outgoing(message: PreparedMessage, recipients: readonly OutgoingRecipient[]): Outgoing {
  const { id, channel, from, content, payload, createdAt, scheduledFor, expiresAt } = message;
  return {
    message: { id, channel, from, content, payload, createdAt, scheduledFor, expiresAt },
    recipients,
  };
}
