import type { AccountCaller, Environment } from '../caller.ts';
import { insufficientBalance, serviceUnavailable } from '../errors.ts';
import { fromMinor } from '../money/money.ts';
import type { Tariff } from '../money/tariff.ts';
import type { Intake } from '../ports/intake.ts';
import type { Routing } from '../ports/routing.ts';
import type { Clock, Ids } from '../ports/system.ts';
import { type PreparedMessage, SUBMIT_DEADLINE_MS } from './message.ts';
import { type PricedSms, priceSms, type SmsInput } from './prepare-sms.ts';

export interface SendSmsInput extends SmsInput {
  readonly environment: Environment;
  readonly idempotencyKey?: string | undefined;
}

/** What a send answers with: `body` is the message resource as JSON text, the same bytes on every repeat. */
export interface SendAnswer {
  readonly messageId: string;
  readonly statusCode: number;
  readonly body: string;
  readonly isReplay: boolean;
}

export interface SendContext {
  readonly intake: Intake;
  readonly routing: Routing;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly defaultSenderId: string;
  tariff(): Promise<Tariff>;
  currencyOf(accountId: string): Promise<string>;
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
 * Accepts an SMS (contract, POST /developers/sms). Throws the refusal of the first broken rule, and
 * `insufficient_balance` when the account cannot pay it.
 */
export async function sendSms(
  context: SendContext,
  caller: AccountCaller,
  input: SendSmsInput,
): Promise<SendAnswer> {
  const priced = await priceFor(context, caller.accountId, input);
  const prepared = prepare(context, caller, input, priced, await context.currencyOf(caller.accountId));
  const answer = await context.intake.accept(prepared);
  switch (answer.kind) {
    case 'accepted':
      return { messageId: answer.message.id, statusCode: 200, body: answer.body, isReplay: false };
    case 'replayed':
      return { messageId: answer.messageId, statusCode: answer.statusCode, body: answer.body, isReplay: true };
    case 'insufficient':
      throw insufficientBalance(
        fromMinor(answer.balanceMinor, prepared.currency),
        fromMinor(prepared.costMinor, prepared.currency),
        prepared.currency,
      );
  }
}

function prepare(
  context: SendContext,
  caller: AccountCaller,
  input: SendSmsInput,
  priced: PricedSms,
  currency: string,
): PreparedMessage {
  const createdAt = context.clock.now();
  const isSandbox = input.environment === 'sandbox';
  return {
    id: context.ids.uuid(),
    accountId: caller.accountId,
    channel: 'sms',
    environment: input.environment,
    from: priced.from,
    content: input.message,
    payload: null,
    recipients: priced.recipients.map(({ address, costMinor }) => ({
      address,
      costMinor: isSandbox ? 0 : costMinor,
      group: isSandbox ? 'sandbox' : routeFor(context.routing, address),
    })),
    costMinor: isSandbox ? 0 : priced.costMinor,
    unitPriceMinor: priced.unitPriceMinor,
    currency,
    invalidSkipped: priced.invalidNumbers.length,
    duplicatesRemoved: priced.duplicatesRemoved,
    apiKeyId: caller.kind === 'api-key' ? caller.keyId : null,
    userId: caller.kind === 'member' ? caller.userId : null,
    createdAt,
    scheduledFor: priced.scheduledFor,
    expiresAt: new Date((priced.scheduledFor ?? createdAt).getTime() + SUBMIT_DEADLINE_MS),
    idempotency: input.idempotencyKey === undefined ? null : { route: 'sms', key: input.idempotencyKey },
  };
}

function routeFor(routing: Routing, address: string): string {
  const route = routing.routeFor('sms', address);
  // A channel nobody carries is refused before anything is charged (decision 26).
  if (route === undefined) {
    throw serviceUnavailable('No sms provider is configured on this gateway. Ask its operator.', 60);
  }
  return route;
}
