import type { PreparedMessage } from '../domain/messages/message.ts';
import type { NewJob } from '../domain/ports/job-queue.ts';

/** One job for each route and due time in the batch; a message over several routes names its positions. */
export function submitJobs(messages: readonly PreparedMessage[]): NewJob<'submit'>[] {
  const jobs = new Map<
    string,
    { job: NewJob<'submit'>; messageIds: string[]; positions: Record<string, number[]> }
  >();
  for (const message of messages) {
    if (message.environment === 'sandbox') continue;
    const byGroup = new Map<string, number[]>();
    message.recipients.forEach((recipient, position) => {
      const positions = byGroup.get(recipient.group);
      if (positions) positions.push(position);
      else byGroup.set(recipient.group, [position]);
    });
    for (const [group, positions] of byGroup) {
      const key = `${group} ${message.scheduledFor?.getTime() ?? ''}`;
      let entry = jobs.get(key);
      if (!entry) {
        const messageIds: string[] = [];
        const byMessage: Record<string, number[]> = {};
        const data = { messageIds, positions: byMessage, attempt: 0 };
        entry = {
          job: {
            queue: 'submit',
            group,
            data,
            ...(message.scheduledFor ? { startAfter: message.scheduledFor } : {}),
          },
          messageIds,
          positions: byMessage,
        };
        jobs.set(key, entry);
      }
      entry.messageIds.push(message.id);
      if (byGroup.size > 1) entry.positions[message.id] = positions;
    }
  }
  return [...jobs.values()].map((entry) => entry.job);
}
