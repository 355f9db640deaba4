import { ACCOUNT_ROLES, refusal, visibilityOf } from '../caller.ts';
import type { Dependencies } from '../dependencies.ts';
import type { Tariff } from '../money/tariff.ts';
import { operation } from '../operation.ts';
import { keyRange, SLICE_MAX, UUID_KEY } from '../paging.ts';
import { READ_WEBHOOKS } from '../webhooks/webhook-operations.ts';
import { explainMessage, type MessageExplanation, retryable } from './explain-message.ts';
import type { Message, Recipient } from './message.ts';
import { type MessageDetails, readDetails } from './message-operations.ts';
import type { SendContext } from './send-operation.ts';
import { describeText } from './sms-text.ts';

export interface ExplainedMessage extends MessageDetails {
  readonly explanation: MessageExplanation & {
    /**
     * Cost of sending the message again now to the recipients that may not have got it, in minor units. Null if there
     * are no such recipients, if a price is missing, or if the text of the message was erased.
     */
    readonly retryCostMinor: number | null;
  };
}

/** The operation that explains messages. */
export function explainOperations(
  { stores, clock }: Pick<Dependencies, 'stores' | 'clock'>,
  context: Pick<SendContext, 'tariff'>,
) {
  return {
    /**
     * Returns a message with its explanation (R274). Webhook deliveries are included for callers who may read webhooks.
     */
    explain: operation(
      'message.explain',
      { scopes: ['READ_MESSAGES'], roles: ACCOUNT_ROLES },
      async (caller, input: { readonly id: string }): Promise<ExplainedMessage> => {
        const visibility = visibilityOf(caller);
        const details = await readDetails(stores, visibility, input.id);
        const { message, recipients } = details;
        const deliveries = refusal(READ_WEBHOOKS, caller)
          ? []
          : await stores.deliveryLists.list(
              visibility.accountId,
              { messageId: message.id },
              keyRange({ first: SLICE_MAX }, UUID_KEY),
            );
        const now = clock.now();
        const again = retryable(message, recipients, now);
        const retryCostMinor = again.length === 0 ? null : costOf(message, again, await context.tariff());
        return {
          ...details,
          explanation: { ...explainMessage({ ...details, deliveries }, now), retryCostMinor },
        };
      },
    ),
  };
}

function costOf(message: Message, recipients: readonly Recipient[], tariff: Tariff): number | null {
  const { channel, currency, content } = message;
  const isSms = channel === 'sms';
  if (isSms && content === '') return null;
  const units = isSms ? describeText(content).billingUnits : 1;
  const hasNumbers = isSms || channel === 'whatsapp';
  let costMinor = 0;
  for (const { address } of recipients) {
    const unitPriceMinor = tariff.unitPrice(currency, channel, hasNumbers ? address : '');
    if (unitPriceMinor === undefined) return null;
    costMinor += unitPriceMinor * units;
  }
  return costMinor;
}
