import type { MatchedReport } from '../ports/report-stores.ts';
import type { Tx } from '../ports/stores.ts';
import type { Ids } from '../ports/system.ts';
import type { NewEvent } from '../webhooks/event.ts';
import { recordEvents } from '../webhooks/fan-out.ts';
import { rulesOf } from './channels/rules-of.ts';
import type { Message } from './message.ts';
import { announceMessages } from './message-events.ts';

/**
 * Records in `tx` that recipients have read their message, once for each recipient, and records the event (R25). The
 * caller must first lock `messages` and change the recipients to `delivered`. `timeOf` returns the time at which a
 * report arrived. Events are recorded at `now`. Returns the reports that changed something.
 */
export async function applyReads(
  tx: Tx,
  ids: Ids,
  messages: ReadonlyMap<string, Message>,
  reads: readonly MatchedReport[],
  timeOf: (read: MatchedReport) => Date,
  now: Date,
): Promise<ReadonlySet<MatchedReport>> {
  if (reads.length === 0) return new Set();
  const news = new Set<MatchedReport>();
  const events: NewEvent[] = [];
  for (const [at, own] of Map.groupBy(reads, (read) => timeOf(read).getTime())) {
    for (const recipient of await tx.messages.markRead(own, new Date(at))) {
      const message = messages.get(recipient.messageId);
      const report = own.find(
        (read) => read.messageId === recipient.messageId && read.position === recipient.position,
      );
      if (report) news.add(report);
      const event = message && rulesOf(message.channel).readEvent?.(message, recipient, now);
      if (event) events.push(event);
    }
  }
  await recordEvents(tx, ids, events);
  announceMessages(tx, messages, [...news]);
  return news;
}
