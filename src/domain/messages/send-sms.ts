import type { AccountCaller, Environment } from '../caller.ts';
import type { Tariff } from '../money/tariff.ts';
import {
  acceptMessage,
  type Draft,
  prepareMessage,
  type SendAnswer,
  type SendContext,
} from './accept-message.ts';
import type { PreparedMessage } from './message.ts';
import { type PricedSms, priceSms, type SmsInput } from './price-sms.ts';

export interface SendSmsInput extends SmsInput {
  readonly environment: Environment;
  readonly idempotencyKey?: string | undefined;
}

/**
 * Accepts an SMS (R90–R101). Throws the refusal of the first broken rule, and what
 * `acceptMessage` throws.
 */
export async function sendSms(
  context: SendContext,
  caller: AccountCaller,
  input: SendSmsInput,
): Promise<SendAnswer> {
  const currency = await context.currencyOf(caller.accountId);
  const { draft } = draftSms(context, input, currency, await context.tariff());
  return await acceptMessage(context, caller, draft);
}

/** What `sendSms` would accept and charge (R21). Throws every refusal that it has before the charge. */
export async function prepareSms(
  context: SendContext,
  caller: AccountCaller,
  input: SendSmsInput,
): Promise<{ priced: PricedSms; prepared: PreparedMessage }> {
  const currency = await context.currencyOf(caller.accountId);
  const { priced, draft } = draftSms(context, input, currency, await context.tariff());
  return { priced, prepared: prepareMessage(context, caller, draft) };
}

function draftSms(
  context: SendContext,
  input: SendSmsInput,
  currency: string,
  tariff: Tariff,
): { priced: PricedSms; draft: Draft } {
  const priced = priceSms(input, {
    tariff,
    currency,
    defaultSenderId: context.defaultSenderId,
    now: context.clock.now(),
  });
  const draft: Draft = {
    channel: 'sms',
    environment: input.environment,
    from: priced.from,
    content: input.message,
    payload: null,
    recipients: priced.recipients,
    unitPriceMinor: priced.unitPriceMinor,
    currency,
    invalidSkipped: priced.invalidNumbers.length,
    duplicatesRemoved: priced.duplicatesRemoved,
    scheduledFor: priced.scheduledFor,
    idempotencyKey: input.idempotencyKey,
  };
  return { priced, draft };
}
