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
     * What sending it again to the recipients that did not surely get it would cost now, in minor units. Null without
     * such recipients, without a price, and when the text is erased.
     */
    readonly retryCostMinor: number | null;
  };
}

/** Explaining messages. */
export function explainOperations(
  { stores, clock }: Pick<Dependencies, 'stores' | 'clock'>,
  context: Pick<SendContext, 'tariff'>,
) {
  return {
    /** A message with its explanation (R274). Webhook deliveries are shown to callers who may read them. */
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
