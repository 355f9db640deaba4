/**
 * The steps that every send takes, on all channels: access, budget, price, routes, intake. The rules of one channel are
 * in its operations file, as a function that turns a request into a `PricedMessage`.
 */
import type { Budgets } from '../accounts/budgets.ts';
import {
  type AccountCaller,
  type AccountEnvironment,
  type Caller,
  type Environment,
  environmentOf,
  type Scope,
} from '../caller.ts';
import type { Dependencies } from '../dependencies.ts';
import { DomainError, forbidden, notFound, serviceUnavailable } from '../errors.ts';
import { parseIsoTime } from '../iso-time.ts';
import { heldForReview } from '../limits/held.ts';
import { LimitsOfKeys } from '../limits/limits-of-keys.ts';
import { PumpingWatch } from '../limits/pumping-watch.ts';
import { checkDestinations, countedIn, type SharedLimitRow } from '../limits/send-limits.ts';
import { confirmedPrices, Tariff } from '../money/tariff.ts';
import { type Operation, operation } from '../operation.ts';
import type { Intake, SendAnswer } from '../ports/intake.ts';
import type { Measurements } from '../ports/measurements.ts';
import type { Routing } from '../ports/routing.ts';
import type { Clock, Ids } from '../ports/system.ts';
import type { HoldGate } from '../recovery/hold-gate.ts';
import {
  ALL_SENDERS,
  checkSender,
  isOwnSender,
  nameOwners,
  refuseOthersName,
  signingDomainOf,
} from '../senders/check-sender.ts';
import type { SenderChannel } from '../senders/sender.ts';
import { findSuppressed } from '../suppressions/hashed-suppressions.ts';
import { addressesOf, isSuppressedChannel, leaveOut } from '../suppressions/suppression.ts';
import { truncate } from '../text.ts';
import {
  type Channel,
  type PreparedMessage,
  type PricedMessage,
  type Purpose,
  SUBMIT_DEADLINE_MS,
} from './message.ts';
import type { QuietHours } from './quiet-hours.ts';

/** The scope that an API key needs to send on a channel and to cancel its messages (R22). */
export const SEND_SCOPES: Readonly<Record<Channel, Scope>> = {
  sms: 'SEND_SMS',
  email: 'SEND_EMAIL',
  push: 'SEND_PUSH',
  whatsapp: 'SEND_WHATSAPP',
};
/** Roles of members who may send. */
export const SENDER_ROLES = ['OWNER', 'ADMIN', 'DEVELOPER'] as const;
/** Roles of members who may send a message again as it was (R235). */
export const RESENDER_ROLES = [...SENDER_ROLES, 'SUPPORT'] as const;

/**
 * How far ahead a message may be scheduled, in ms. A send time in the past is refused, unless it is past by at most
 * `SCHEDULE_GRACE_MS`. Such a message is sent now (R18).
 */
const SCHEDULE_AHEAD_MS = 30 * 24 * 3_600_000;
const SCHEDULE_GRACE_MS = 60_000;

/** The dependencies of the send on every channel. */
export interface SendContext {
  readonly budgets: Pick<Budgets, 'countSend'>;
  readonly intake: Intake;
  readonly holdGate: Pick<HoldGate, 'refuseWhileHeld'>;
  readonly routing: Routing;
  readonly measurements: Pick<Measurements, 'accepted'>;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly defaultSenderId: string;
  /** The hours in which marketing waits (R385). */
  readonly quietHours: QuietHours;
  /** Default sender of emails (EMAIL_FROM). */
  readonly emailFrom: string;
  /** Returns the prices in force. */
  tariff(): Promise<Tariff>;
  currencyOf(accountId: string): Promise<string>;
  /**
   * Returns the message without its suppressed recipients (R378). Throws `all_recipients_suppressed` if none is left.
   */
  leaveOutSuppressed(
    owner: AccountEnvironment,
    channel: Channel,
    purpose: Purpose | undefined,
    priced: PricedMessage,
  ): Promise<KeptMessage>;
  /** Throws `sender_not_approved` unless the account may send under this name (R432). */
  checkSender(
    owner: AccountEnvironment,
    channel: SenderChannel,
    from: string,
    purpose: Purpose | undefined,
  ): Promise<void>;
  /** Returns the domain that mails from this address are signed for. Undefined: DKIM_DOMAIN (R435). */
  signingDomainOf(owner: AccountEnvironment, from: string): Promise<string | undefined>;
  /** Returns PUBLIC_URL, where the links of recipients lead (R440). Undefined in production if it is not set. */
  publicUrl(): string | undefined;
  /**
   * Calls `accept` with the message as it is accepted: held for review if it looks like SMS pumping (R392). Counts of
   * a message that `accept` refuses are taken back.
   */
  watched(
    prepared: PreparedMessage,
    accept: (prepared: PreparedMessage) => Promise<SendAnswer>,
  ): Promise<SendAnswer>;
  /** Returns the rows of send limits that apply to a sender (R370). */
  limitsOf(sender: AccountCaller): Promise<readonly SharedLimitRow[]>;
}

/** Builds the send context. It caches prices and currencies until a change is announced. */
export function createSendContext(deps: Dependencies): SendContext {
  const { stores } = deps;
  const tariffs = deps.createCache('prices', async () => {
    const rows = await stores.prices.all();
    return new Tariff(deps.settings.isProduction ? confirmedPrices(rows) : rows);
  });
  const currencies = deps.createCache('account', async (id) => {
    const account = await stores.accounts.find(id);
    if (!account) throw notFound('Account');
    return account.currency;
  });
  const limits = new LimitsOfKeys(deps);
  const suppressing = deps.createCache('suppressions', (id) => stores.suppressions.any(id));
  const { settings } = deps;
  const senders = deps.createCache('senders', (id) => stores.senders.ofAccount(id));
  const owners = deps.createCache('senders', async () => nameOwners(await stores.senders.approved()));
  const pumping = settings.watchesPumping ? new PumpingWatch(deps) : undefined;
  return {
    budgets: deps.budgets,
    intake: deps.intake,
    holdGate: deps.holdGate,
    routing: deps.routing,
    measurements: deps.measurements,
    clock: deps.clock,
    ids: deps.ids,
    defaultSenderId: deps.settings.defaultSenderId,
    quietHours: deps.settings.quietHours,
    emailFrom: deps.settings.emailFrom,
    tariff: () => tariffs.get('all'),
    currencyOf: (accountId) => currencies.get(accountId),
    async leaveOutSuppressed(owner, channel, purpose = 'transactional', priced) {
      const kind = isSuppressedChannel(channel) ? await suppressing.get(owner.accountId) : 'none';
      if (!isSuppressedChannel(channel) || kind === 'none') {
        return { ...priced, purpose, suppressedSkipped: 0 };
      }
      const addresses = addressesOf(priced);
      const suppressed = await findSuppressed(
        deps.suppressionFilter,
        deps.addressHashes,
        kind,
        owner,
        channel,
        addresses,
      );
      const kept = leaveOut(priced, purpose, suppressed);
      if (kept.recipients.length === 0) throw allSuppressed(priced.recipients.length);
      return { ...kept, purpose };
    },
    async checkSender(owner, channel, from, purpose = 'transactional') {
      if (isOwnSender(channel, from, settings)) return;
      if (!settings.requiresApprovedSenders) {
        refuseOthersName(await owners.get(ALL_SENDERS), owner, channel, from);
        return;
      }
      checkSender(await senders.get(owner.accountId), owner, channel, from, purpose);
    },
    async signingDomainOf(owner, from) {
      if (!settings.mailRecords.dkim || isOwnSender('email', from, settings)) return undefined;
      return signingDomainOf(await senders.get(owner.accountId), owner, from, settings.mailRecords);
    },
    publicUrl: settings.publicUrl,
    watched: async (prepared, accept) => {
      if (!pumping) return accept(prepared);
      const { block, takeBack } = await pumping.watch(prepared);
      try {
        return await accept(block === undefined ? prepared : heldForReview(prepared, block));
      } catch (error) {
        // After another error it may have been accepted.
        if (error instanceof DomainError && error.code !== 'outcome_unknown') {
          const takenBack = takeBack();
          // The database may not answer. The sender must not wait for it again to learn that.
          if (error.code !== 'service_unavailable') await takenBack;
        }
        throw error;
      }
    },
    limitsOf: (sender) => limits.of(sender),
  };
}

/** A priced message without suppressed recipients. */
export interface KeptMessage extends PricedMessage {
  readonly purpose: Purpose;
  readonly suppressedSkipped: number;
}

/** The members that the requests of all channels have. */
export interface SendRequest {
  /** What the message is for (R376). The default is `transactional`. */
  readonly purpose?: Purpose | undefined;
  /** Members choose the environment, by default production. An API key always sends in its own environment. */
  readonly environment?: Environment | undefined;
  readonly idempotencyKey?: string | undefined;
}

/** Sends a request. It does not check whether the caller may send. */
export type Send<Request> = (caller: Caller, request: Request) => Promise<SendAnswer>;

/** Builds the send operation of a channel. It requires the channel's scope or a role that may send. */
export function sendOperation<Request extends SendRequest>(
  name: string,
  channel: Channel,
  send: Send<Request>,
): Operation<Request, SendAnswer> {
  return operation(name, { scopes: [SEND_SCOPES[channel]], roles: SENDER_ROLES }, send);
}

/**
 * Builds the steps of a send on a channel. A member's sends count against the member's budget (R207).
 *
 * `price` applies the rules of the channel and throws its refusals. The send also throws `rate_limit_exceeded`,
 * `sender_not_approved`, `destination_not_allowed`, and the errors of `Intake.accept`. It throws `service_unavailable`
 * if the channel has no provider (R26), or while this copy of the gateway is on hold after a restore (R231).
 */
export function sendOn<Request extends SendRequest>(
  context: SendContext,
  channel: Channel,
  price: (request: Request, sender: AccountCaller, environment: Environment) => Promise<PricedMessage>,
): Send<Request> {
  return async (caller, request) => {
    context.holdGate.refuseWhileHeld();
    const sender = senderOf(caller);
    if (sender.kind === 'member') await context.budgets.countSend(sender);
    const environment = environmentOf(sender, request.environment);
    const priced = await price(request, sender, environment);
    const owner = { accountId: sender.accountId, environment };
    if (channel === 'sms' || channel === 'email') {
      await context.checkSender(owner, channel, priced.from, request.purpose);
    }
    const kept = await context.leaveOutSuppressed(owner, channel, request.purpose, priced);
    const limits = await context.limitsOf(sender);
    checkDestinations(limits, channel, kept.recipients);
    const prepared = prepareMessage(
      context,
      senderIds(sender),
      channel,
      environment,
      kept,
      request.idempotencyKey,
      kept.routeKey,
    );
    const accept = (message: PreparedMessage) => context.intake.accept(message);
    const answer =
      environment === 'sandbox'
        ? await accept(prepared)
        : await context.watched({ ...prepared, limits: countedIn(limits) }, accept);
    if (!answer.isReplay) context.measurements.accepted(prepared);
    return answer;
  };
}

/** Returns the caller as a sender. Throws `forbidden` for operators and the system, because they have no account. */
export function senderOf(caller: Caller): AccountCaller {
  if (caller.kind === 'api-key' || caller.kind === 'member') return caller;
  throw forbidden('Only a key or a member of an account can send.');
}

/**
 * The account, key and person that a message is from. `apiKeyId` and `userId` are both null for an answer that the
 * gateway itself sends.
 */
export type SenderIds = Pick<PreparedMessage, 'accountId' | 'apiKeyId' | 'userId'>;

export function senderIds(sender: AccountCaller): SenderIds {
  return {
    accountId: sender.accountId,
    apiKeyId: sender.kind === 'api-key' ? sender.keyId : null,
    userId: sender.kind === 'member' ? sender.userId : null,
  };
}

/**
 * Gives a priced message its id, routes and times, so that intake only has to charge and store it. A sandbox message
 * costs nothing, needs no route and is never held. `routeKey` is the route of all recipients, if it is known. Throws
 * `service_unavailable` if a recipient has no route.
 */
export function prepareMessage(
  { routing, clock, ids, quietHours }: Pick<SendContext, 'routing' | 'clock' | 'ids' | 'quietHours'>,
  sender: SenderIds,
  channel: Channel,
  environment: Environment,
  priced: KeptMessage,
  idempotencyKey: string | undefined,
  routeKey?: string,
): PreparedMessage {
  const createdAt = clock.now();
  const isSandbox = environment === 'sandbox';
  const startsAt = priced.scheduledFor ?? createdAt;
  const heldUntil = holdOf(quietHours, channel, environment, priced.purpose, startsAt);
  const recipients = priced.recipients.map(({ address, costMinor }) => ({
    address,
    costMinor: isSandbox ? 0 : costMinor,
    routeKey: isSandbox ? 'sandbox' : (routeKey ?? routeFor(routing, channel, address)),
    heldUntil: heldUntil ? heldUntil(address) : null,
  }));
  const lastHeldUntil = heldUntil ? latest(recipients.map((recipient) => recipient.heldUntil)) : null;
  return {
    id: ids.uuid(),
    accountId: sender.accountId,
    channel,
    environment,
    from: priced.from,
    content: priced.content,
    payload: priced.payload,
    bulk: priced.bulk ?? null,
    recipients,
    costMinor: recipients.reduce((sum, recipient) => sum + recipient.costMinor, 0),
    unitPriceMinor: priced.unitPriceMinor,
    currency: priced.currency,
    invalidSkipped: priced.skipped.length,
    duplicatesRemoved: priced.duplicatesRemoved,
    purpose: priced.purpose,
    suppressedSkipped: priced.suppressedSkipped,
    apiKeyId: sender.apiKeyId,
    userId: sender.userId,
    createdAt,
    scheduledFor: priced.scheduledFor,
    heldUntil: lastHeldUntil,
    expiresAt: new Date(
      (lastHeldUntil ?? startsAt).getTime() +
        Math.min(SUBMIT_DEADLINE_MS, priced.maxDelayMs ?? SUBMIT_DEADLINE_MS),
    ),
    idempotency: idempotencyKey === undefined ? null : { route: channel, key: idempotencyKey },
    limits: [],
    review: null,
  };
}

/**
 * Returns the function that says until when a recipient is held that would leave at `at` (R385). Undefined if no
 * recipient is held: only marketing of production is.
 */
export function holdOf(
  quietHours: QuietHours,
  channel: Channel,
  environment: Environment,
  purpose: Purpose | undefined,
  at: Date,
): ((address: string) => Date | null) | undefined {
  if (purpose !== 'marketing' || environment === 'sandbox') return undefined;
  return (address) => quietHours.heldUntil(channel, address, at);
}

function latest(times: readonly (Date | null)[]): Date | null {
  return times.reduce((last, time) => (last === null || (time !== null && time > last) ? time : last), null);
}

function allSuppressed(count: number): DomainError {
  return new DomainError(
    'all_recipients_suppressed',
    'Every recipient asked not to get such messages, or was suppressed. Nothing was sent or charged.',
    { suppressedSkipped: count },
  );
}

function routeFor(routing: Routing, channel: Channel, address: string): string {
  const route = routing.routeFor(channel, address);
  // Refuse the message before anything is charged (R26).
  if (route === undefined) {
    throw serviceUnavailable(
      `No ${channel} provider is configured on this gateway. Ask its operator.`,
      60,
      'provider_missing',
    );
  }
  return route;
}

/** Returns the time to send at, or null for now (R18). Throws `invalid_scheduled_time`. */
export function checkSchedule(scheduledFor: string | undefined, now: Date): Date | null {
  if (scheduledFor === undefined) return null;
  const refuse = (why: string) =>
    new DomainError('invalid_scheduled_time', `scheduledFor ${why}`, {
      field: 'scheduledFor',
      value: truncate(scheduledFor),
    });
  const time = parseIsoTime(scheduledFor);
  if (!time) throw refuse('must be an ISO 8601 time with Z or an offset, such as 2030-01-31T09:00:00Z.');
  const aheadMs = time.getTime() - now.getTime();
  if (aheadMs > SCHEDULE_AHEAD_MS) throw refuse('is more than 30 days ahead.');
  if (aheadMs < -SCHEDULE_GRACE_MS) throw refuse('is in the past.');
  return aheadMs <= 0 ? null : time;
}

/**
 * Returns the price of one billing unit to one recipient, in minor units of the account's currency (R17). Throws
 * `unpriced_destination`.
 */
export async function unitPriceOf(
  context: Pick<SendContext, 'currencyOf' | 'tariff'>,
  accountId: string,
  channel: Channel,
  destination: string,
): Promise<Pick<PricedMessage, 'currency' | 'unitPriceMinor'>> {
  const currency = await context.currencyOf(accountId);
  const unitPriceMinor = (await context.tariff()).unitPrice(currency, channel, destination);
  if (unitPriceMinor !== undefined) return { currency, unitPriceMinor };
  throw new DomainError(
    'unpriced_destination',
    `There is no ${currency} price for ${channel}. Ask the operator to set one.`,
    { destination, currency },
  );
}
