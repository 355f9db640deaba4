import type { AccountCaller, Environment } from '../caller.ts';
import { acceptMessage, type SendAnswer, type SendContext } from './accept-message.ts';
import { type PricedSms, priceSms, type SmsInput } from './prepare-sms.ts';

export interface SendSmsInput extends SmsInput {
  readonly environment: Environment;
  readonly idempotencyKey?: string | undefined;
}

/** The price and the recipients of an SMS, without sending it. */
export async function priceFor(context: SendContext, accountId: string, input: SmsInput): Promise<PricedSms> {
  return priceSms(input, {
    tariff: await context.tariff(),
    currency: await context.currencyOf(accountId),
    defaultSenderId: context.defaultSenderId,
    now: context.clock.now(),
  });
}

/**
 * Accepts an SMS (contract, POST /developers/sms). Throws the refusal of the first broken rule, and what
 * `acceptMessage` throws.
 */
export async function sendSms(
  context: SendContext,
  caller: AccountCaller,
  input: SendSmsInput,
): Promise<SendAnswer> {
  const priced = await priceFor(context, caller.accountId, input);
  return acceptMessage(context, caller, {
    channel: 'sms',
    environment: input.environment,
    from: priced.from,
    content: input.message,
    payload: null,
    recipients: priced.recipients,
    unitPriceMinor: priced.unitPriceMinor,
    invalidSkipped: priced.invalidNumbers.length,
    duplicatesRemoved: priced.duplicatesRemoved,
    scheduledFor: priced.scheduledFor,
    idempotencyKey: input.idempotencyKey,
  });
}
