import type { Budgets } from '../accounts/budgets.ts';
import type { AccountCaller, Environment } from '../caller.ts';
import { insufficientBalance, serviceUnavailable } from '../errors.ts';
import { fromMinor } from '../money/money.ts';
import type { Tariff } from '../money/tariff.ts';
import type { Intake } from '../ports/intake.ts';
import type { Routing } from '../ports/routing.ts';
import type { Clock, Ids } from '../ports/system.ts';
import { type Channel, type PreparedMessage, SUBMIT_DEADLINE_MS } from './message.ts';

/** What a send answers with: `body` is the message resource as JSON text, the same bytes on every repeat. */
export interface SendAnswer {
  readonly messageId: string;
  readonly statusCode: number;
  readonly body: string;
  readonly isReplay: boolean;
}

/** What every channel's send is built on. */
export interface SendContext {
  readonly budgets: Pick<Budgets, 'countSend'>;
  readonly intake: Intake;
  readonly routing: Routing;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly defaultSenderId: string;
  /** Who mails are from when their request names nobody (EMAIL_FROM). */
  readonly emailFrom: string;
  tariff(): Promise<Tariff>;
  currencyOf(accountId: string): Promise<string>;
}

/** A message that passed its channel's rules; costs are those of production. */
export interface Draft {
  readonly channel: Channel;
  readonly environment: Environment;
  readonly from: string;
  readonly content: string;
  readonly payload: Readonly<Record<string, unknown>> | null;
  /** Large content that only the hand-over needs. */
  readonly bulk?: Readonly<Record<string, unknown>> | undefined;
  readonly recipients: readonly { readonly address: string; readonly costMinor: number }[];
  readonly unitPriceMinor: number;
  /** Of all that it costs. */
  readonly currency: string;
  readonly invalidSkipped: number;
  readonly duplicatesRemoved: number;
  readonly scheduledFor: Date | null;
  /** It is of no use later than this after it was to leave; R14's deadline when absent or longer. */
  readonly usefulForMs?: number | undefined;
  readonly idempotencyKey: string | undefined;
}

/**
 * Accepts a drafted message of any channel: free of charge and without a route in the sandbox, charged and queued
 * in production. Throws `insufficient_balance`, and `service_unavailable` for a channel that nobody carries.
 */
export async function acceptMessage(
  context: SendContext,
  caller: AccountCaller,
  draft: Draft,
): Promise<SendAnswer> {
  const prepared = prepareMessage(context, caller, draft);
  const answer = await context.intake.accept(prepared);
  switch (answer.kind) {
    case 'accepted':
      return { messageId: answer.messageId, statusCode: 200, body: answer.body, isReplay: false };
    case 'replayed':
      return {
        messageId: answer.messageId,
        statusCode: answer.statusCode,
        body: answer.body,
        isReplay: true,
      };
    case 'insufficient':
      throw insufficientBalance(
        fromMinor(answer.balanceMinor, prepared.currency),
        fromMinor(prepared.costMinor, prepared.currency),
        prepared.currency,
      );
  }
}

/** The message that would be accepted, with what it costs: all of a send but the charge. */
export function prepareMessage(context: SendContext, caller: AccountCaller, draft: Draft): PreparedMessage {
  const createdAt = context.clock.now();
  const isSandbox = draft.environment === 'sandbox';
  const recipients = draft.recipients.map(({ address, costMinor }) => ({
    address,
    costMinor: isSandbox ? 0 : costMinor,
    routeKey: isSandbox ? 'sandbox' : routeFor(context.routing, draft.channel, address),
  }));
  return {
    id: context.ids.uuid(),
    accountId: caller.accountId,
    channel: draft.channel,
    environment: draft.environment,
    from: draft.from,
    content: draft.content,
    payload: draft.payload,
    bulk: draft.bulk ?? null,
    recipients,
    costMinor: recipients.reduce((sum, recipient) => sum + recipient.costMinor, 0),
    unitPriceMinor: draft.unitPriceMinor,
    currency: draft.currency,
    invalidSkipped: draft.invalidSkipped,
    duplicatesRemoved: draft.duplicatesRemoved,
    apiKeyId: caller.kind === 'api-key' ? caller.keyId : null,
    userId: caller.kind === 'member' ? caller.userId : null,
    createdAt,
    scheduledFor: draft.scheduledFor,
    expiresAt: new Date(
      (draft.scheduledFor ?? createdAt).getTime() +
        Math.min(SUBMIT_DEADLINE_MS, draft.usefulForMs ?? SUBMIT_DEADLINE_MS),
    ),
    idempotency:
      draft.idempotencyKey === undefined ? null : { route: draft.channel, key: draft.idempotencyKey },
  };
}

function routeFor(routing: Routing, channel: Channel, address: string): string {
  const route = routing.routeFor(channel, address);
  // A channel that nobody carries is refused before anything is charged (R26).
  if (route === undefined) {
    throw serviceUnavailable(
      `No ${channel} provider is configured on this gateway. Ask its operator.`,
      60,
      'provider_missing',
    );
  }
  return route;
}
