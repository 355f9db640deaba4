/** Limits what an operator sees of a customer's account (R290). */
import { recordChange } from '../audit/record-change.ts';
import type { Caller, OperatorCaller } from '../caller.ts';
import { forbidden } from '../errors.ts';
import type { Message } from '../messages/message.ts';
import { redactContent, redactEnvelope } from '../messages/redact-content.ts';
import type { Tx } from '../ports/stores.ts';
import type { Clock, Ids } from '../ports/system.ts';
import type { RecordedEvent } from '../webhooks/event.ts';
import type { WebhookDelivery } from '../webhooks/webhook.ts';

/** Records in the account's audit log that an operator reads it. With a reason, the operator sees texts too. */
export async function recordInspection(
  tx: Tx,
  system: { clock: Clock; ids: Ids },
  caller: OperatorCaller,
  accountId: string,
  reason: string | undefined,
): Promise<void> {
  await recordChange(tx, system, caller, {
    accountId,
    action: 'account.inspect',
    target: accountId,
    after: { texts: reason !== undefined, reason: reason ?? null },
  });
}

/** True if the caller may see everything of a message except its texts. */
export function isMasked(caller: Caller): boolean {
  return caller.kind === 'member' && caller.inspection?.showsTexts === false;
}

/** Returns the messages as the caller may see them. */
export function shownMessages(caller: Caller, messages: readonly Message[]): readonly Message[] {
  if (!isMasked(caller)) return messages;
  return messages.map((message) => ({
    ...message,
    content: '',
    payload: message.payload && redactContent(message.payload),
  }));
}

/** Returns the events as the caller may see them. */
export function shownEvents(caller: Caller, events: readonly RecordedEvent[]): readonly RecordedEvent[] {
  if (!isMasked(caller)) return events;
  return events.map((event) => ({ ...event, body: redactEnvelope(event.body) }));
}

/**
 * Returns the deliveries as the caller may see them. It hides the responses, because an endpoint may repeat the text of
 * the message in its response.
 */
export function shownDeliveries(
  caller: Caller,
  deliveries: readonly WebhookDelivery[],
): readonly WebhookDelivery[] {
  if (!isMasked(caller)) return deliveries;
  return deliveries.map((delivery) => ({ ...delivery, responseBody: null }));
}

/** Throws `forbidden` for a search in texts that the caller may not see, because the results would reveal them. */
export function refuseMaskedSearch(caller: Caller, search: string | undefined): void {
  if (search && isMasked(caller)) {
    throw forbidden('The texts of this account are masked. Give a reason to search in them.');
  }
}
