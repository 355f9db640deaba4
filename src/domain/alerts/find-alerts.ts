/** The rules by which alerts open and are resolved (R480, R481). They look at facts that the gateway has counted. */
import type { Environment } from '../caller.ts';
import { REVIEW_MS } from '../limits/held.ts';
import type { LimitUse } from '../limits/send-limits.ts';
import type { Channel } from '../messages/message.ts';
import { decimalOf, fromMinor } from '../money/money.ts';
import type { HeldBlock } from '../ports/held-store.ts';
import type { PublishedStatus } from '../ports/routing.ts';
import { maskedUrl } from '../webhooks/webhook-url.ts';
import {
  type Alert,
  type AlertKind,
  type AlertRule,
  type AlertSubject,
  type Finding,
  UNCONFIRMED_MS,
} from './alert.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 3_600_000;
/**
 * A balance alert is resolved when the balance lasts this many times as long as the threshold. So a balance near the
 * threshold does not open alert after alert.
 */
const BALANCE_RECOVERED = 1.2;
/** Smallest number of recipients with an outcome in an hour, and in the time before it, to compare their rates. */
const HOUR_RECIPIENTS_MIN = 100;
const USUAL_RECIPIENTS_MIN = 500;
/** A rate alert stays open for this long, in ms, while too little is sent to know the rate. */
const UNKNOWN_RATE_MS = DAY_MS;

/** What an account spends. Amounts are in minor units, at acceptance: refunds do not reduce them. */
export interface Spend {
  readonly accountId: string;
  readonly currency: string;
  readonly balanceMinor: number;
  /** Spend of the last 24 hours, and of the last 7 days. */
  readonly dayMinor: number;
  readonly weekMinor: number;
}

/** A webhook that fails, or that the gateway has switched off. */
export interface WebhookTrouble {
  readonly accountId: string;
  readonly webhookId: string;
  readonly url: string;
  readonly isActive: boolean;
  readonly disabledReason: string | null;
  readonly failingSince: Date | null;
}

/** Recipients of a channel that were delivered, or whose message failed. */
export interface Outcomes {
  readonly accountId: string;
  readonly channel: Channel;
  readonly delivered: number;
  readonly failed: number;
}

export interface EndingKey {
  readonly accountId: string;
  readonly keyId: string;
  readonly name: string;
  readonly environment: Environment;
  readonly createdAt: Date;
  readonly expiresAt: Date;
}

export interface RejectedSender {
  readonly accountId: string;
  readonly id: string;
  readonly name: string;
  readonly channel: string;
  readonly note: string | null;
}

/** What rules say. An open alert whose subject is in `kept` stays open. Open alerts that are in neither are resolved. */
export interface Verdict {
  readonly found: readonly Finding[];
  readonly kept: readonly AlertSubject[];
}

const NOTHING: Verdict = { found: [], kept: [] };
const one = (found: Finding): Verdict => ({ found: [found], kept: [] });
const keep = (accountId: string | null, kind: AlertKind, cause: string): Verdict => ({
  found: [],
  kept: [{ accountId, kind, cause }],
});

/** Combines verdicts on several subjects. */
export function allOf(verdicts: readonly Verdict[]): Verdict {
  return {
    found: verdicts.flatMap(({ found }) => found),
    kept: verdicts.flatMap(({ kept }) => kept),
  };
}

const round = (value: number, digits: number) => Number(value.toFixed(digits));
const thresholdOf = ({ threshold }: AlertRule): number => threshold ?? 0;

/**
 * Compares the balance with the spend of a day: that of the last 24 hours, or a seventh of that of the last 7 days if
 * this is more. So a new campaign counts at once, and a weekend without traffic hides nothing.
 */
export function balanceVerdict(spend: Spend, rule: AlertRule, open: Alert | undefined): Verdict {
  const { accountId, currency, balanceMinor } = spend;
  const cause = 'balance';
  const kept = keep(accountId, 'balance_low', cause);
  const perDayMinor = Math.max(spend.dayMinor, spend.weekMinor / 7);
  if (perDayMinor <= 0) {
    // Sending has stopped, perhaps because the balance is used up. Only a higher balance resolves the alert.
    const was = open?.detail.balance;
    return typeof was === 'number' && fromMinor(balanceMinor, currency) <= was ? kept : NOTHING;
  }
  const daysLeft = balanceMinor / perDayMinor;
  if (daysLeft >= thresholdOf(rule)) {
    return daysLeft < thresholdOf(rule) * BALANCE_RECOVERED ? kept : NOTHING;
  }
  const perDay = Math.round(perDayMinor);
  return one({
    accountId,
    kind: 'balance_low',
    cause,
    summary: `The balance of ${decimalOf(balanceMinor, currency)} ${currency} lasts ${lasting(daysLeft)} at the current rate of ${decimalOf(perDay, currency)} ${currency} a day.`,
    detail: {
      balance: fromMinor(balanceMinor, currency),
      currency,
      spendPerDay: fromMinor(perDay, currency),
      daysLeft: round(daysLeft, 2),
    },
  });
}

function lasting(days: number): string {
  if (days >= 1) return `${round(days, 1)} ${round(days, 1) === 1 ? 'day' : 'days'}`;
  const hours = Math.floor(days * 24);
  return hours === 0 ? 'less than an hour' : `${hours} ${hours === 1 ? 'hour' : 'hours'}`;
}

/** Compares the limits of one row with what is used of them in the current hour and day. */
export function limitVerdict(use: LimitUse, currency: string, rule: AlertRule): Verdict {
  const limits = [
    ['spendPerHour', use.spendPerHourMinor, use.hourMinor, use.hourEndsAt],
    ['spendPerDay', use.spendPerDayMinor, use.dayMinor, use.dayEndsAt],
    ['recipientsPerDay', use.recipientsPerDay, use.dayRecipients, use.dayEndsAt],
  ] as const;
  return allOf(
    limits.map(([limit, maximum, used, resetsAt]): Verdict => {
      // A limit of 0 forbids everything. Nobody comes near it.
      if (maximum === null || maximum === 0) return NOTHING;
      const percent = (100 * used) / maximum;
      if (percent < thresholdOf(rule)) return NOTHING;
      const isSpend = limit !== 'recipientsPerDay';
      const value = (amount: number) => (isSpend ? fromMinor(amount, currency) : amount);
      const text = (amount: number) => (isSpend ? `${decimalOf(amount, currency)} ${currency}` : `${amount}`);
      const whose = use.keyId === null ? 'the account' : `the key ${use.keyId}`;
      return one({
        accountId: use.accountId,
        kind: 'limit_near',
        cause: `${use.keyId ?? 'account'}:${limit}`,
        summary: `${Math.floor(percent)} % of the limit ${limit} of ${whose} is used: ${text(used)} of ${text(maximum)}.`,
        detail: {
          limit,
          of: use.keyId === null ? 'account' : 'key',
          keyId: use.keyId,
          maximum: value(maximum),
          used: value(used),
          percent: Math.floor(percent),
          currency: isSpend ? currency : null,
          resetsAt: resetsAt.toISOString(),
        },
      });
    }),
  );
}

/** Finds a webhook that has been failing for too long, and one that the gateway has switched off for it. */
export function webhookVerdict(webhook: WebhookTrouble, rule: AlertRule, now: Date): Verdict {
  const { accountId, webhookId, failingSince, disabledReason } = webhook;
  const isOff = !webhook.isActive && disabledReason !== null;
  const url = maskedUrl(webhook.url);
  const common = { accountId, kind: 'webhook_failing' } as const;
  const detail = {
    webhookId,
    url,
    failingSince: failingSince?.toISOString() ?? null,
    disabledReason,
  };
  const isOld =
    failingSince !== null && now.getTime() - failingSince.getTime() >= thresholdOf(rule) * MINUTE_MS;
  return allOf([
    isOld && (webhook.isActive || isOff)
      ? one({
          ...common,
          cause: webhookId,
          summary: `The webhook ${url} has been failing since ${failingSince.toISOString()}.`,
          detail: { reason: 'failing', ...detail },
        })
      : NOTHING,
    isOff
      ? one({
          ...common,
          cause: `${webhookId}:off`,
          summary: `The webhook ${url} is switched off. ${disabledReason}`,
          detail: { reason: 'switched_off', ...detail },
        })
      : NOTHING,
  ]);
}

/** True if the rate of an hour may be so low that it must be compared with the usual one. */
export function mayBeLow(hour: Outcomes, rule: AlertRule): boolean {
  return isEnough(hour, HOUR_RECIPIENTS_MIN) && percentOf(hour) < 100 - thresholdOf(rule);
}

const totalOf = ({ delivered, failed }: Outcomes) => delivered + failed;
const isEnough = (outcomes: Outcomes, least: number) => totalOf(outcomes) >= least;
const percentOf = (outcomes: Outcomes) => (100 * outcomes.delivered) / totalOf(outcomes);

/**
 * Compares the delivery rate of an hour with the usual one. A channel without `usual` outcomes has nothing to compare.
 */
export function deliveryVerdict(
  { accountId, channel }: { readonly accountId: string; readonly channel: string },
  hour: Outcomes | undefined,
  usual: Outcomes | undefined,
  rule: AlertRule,
  open: Alert | undefined,
  now: Date,
): Verdict {
  if (!hour || !isEnough(hour, HOUR_RECIPIENTS_MIN)) {
    const isYoung = open && now.getTime() - open.openedAt.getTime() < UNKNOWN_RATE_MS;
    return isYoung ? keep(accountId, 'delivery_rate_low', channel) : NOTHING;
  }
  if (!usual || !isEnough(usual, USUAL_RECIPIENTS_MIN)) return NOTHING;
  const [percent, usualPercent] = [percentOf(hour), percentOf(usual)];
  if (percent > usualPercent - thresholdOf(rule)) return NOTHING;
  return one({
    accountId,
    kind: 'delivery_rate_low',
    cause: channel,
    summary: `${round(percent, 1)} % of the recipients of ${channel} were reached in an hour. Usual are ${round(usualPercent, 1)} %.`,
    detail: {
      channel,
      percent: round(percent, 1),
      usualPercent: round(usualPercent, 1),
      recipients: totalOf(hour),
      failed: hour.failed,
    },
  });
}

/** Finds a key that is about to expire. A key that was made for less than the threshold is meant to expire. */
export function keyVerdict(key: EndingKey, rule: AlertRule, now: Date): Verdict {
  const { accountId, keyId, name, environment, createdAt, expiresAt } = key;
  const thresholdMs = thresholdOf(rule) * DAY_MS;
  const leftMs = expiresAt.getTime() - now.getTime();
  const isShortLived = expiresAt.getTime() - createdAt.getTime() <= thresholdMs;
  if (leftMs <= 0 || leftMs > thresholdMs || isShortLived) return NOTHING;
  return one({
    accountId,
    kind: 'key_expiring',
    cause: keyId,
    summary: `The API key ${name} (${keyId}, ${environment}) expires at ${expiresAt.toISOString()}.`,
    detail: { keyId, name, environment, expiresAt: expiresAt.toISOString() },
  });
}

export function senderVerdict({ accountId, id, name, channel, note }: RejectedSender): Verdict {
  const what = channel === 'sms' ? 'sender ID' : 'domain';
  return one({
    accountId,
    kind: 'sender_rejected',
    cause: id,
    summary: `The ${what} ${name} was rejected${note === null ? '.' : `: ${note}`}`,
    detail: { id, channel, name, note },
  });
}

/** Each block of numbers has an alert while messages to it wait for a review (R397). */
export function heldVerdict({ accountId, block, messages, recipients, heldSince }: HeldBlock): Verdict {
  return one({
    accountId,
    kind: 'messages_held',
    cause: block,
    summary: `${messages} ${messages === 1 ? 'message' : 'messages'} to numbers in a row that begin with ${block} ${messages === 1 ? 'is' : 'are'} held for review: somebody may have your key. Release or reject them before ${new Date(heldSince.getTime() + REVIEW_MS).toISOString()}.`,
    detail: { block, messages, recipients, heldSince: heldSince.toISOString() },
  });
}

/** How long a carrier has been down, as one process has observed it. */
export type DownSince = ReadonlyMap<string, Date>;

/**
 * Notes since when carriers are down. A carrier is down if every process that reports it says so. Between `down` and
 * `up` it is `starting`, which changes nothing. Without any report nothing is known, which changes nothing either.
 */
export function noteDown(before: DownSince, reports: readonly PublishedStatus[], now: Date): DownSince {
  if (reports.length === 0) return before;
  const byCarrier = Map.groupBy(reports, carrierOf);
  return new Map(
    [...byCarrier].flatMap(([carrier, own]) => {
      const since = before.get(carrier);
      if (own.every(({ state }) => state === 'down')) return [[carrier, since ?? now] as const];
      const isUnknown = own.every(({ state }) => state === 'down' || state === 'starting');
      return isUnknown && since ? [[carrier, since] as const] : [];
    }),
  );
}

const carrierOf = ({ channel, name }: Pick<PublishedStatus, 'channel' | 'name'>) => `${channel}:${name}`;

/**
 * Finds the carriers that have been down for too long. An open alert stays open while no process reports its carrier as
 * reachable, and while there is no report of any carrier. It ends when the other carriers have reports, but its own has
 * none: then nobody uses the carrier any more.
 */
export function carrierVerdict(
  downSince: DownSince,
  reports: readonly PublishedStatus[],
  rule: AlertRule,
  open: readonly Alert[],
  now: Date,
): Verdict {
  const reportsOf = (carrier: string) => reports.filter((each) => carrierOf(each) === carrier);
  const isUnreachable = (own: readonly PublishedStatus[]) =>
    own.length > 0 && own.every(({ state }) => state === 'down' || state === 'starting');
  // Another process may have observed a carrier for longer, and has opened the alert.
  const lasting = open.filter(({ cause }) => reports.length === 0 || isUnreachable(reportsOf(cause)));
  return allOf([
    ...lasting.map(({ cause }) => keep(null, 'carrier_down', cause)),
    ...[...downSince].map(([carrier, since]): Verdict => {
      const [report] = reportsOf(carrier);
      const isLong = now.getTime() - since.getTime() >= thresholdOf(rule) * MINUTE_MS;
      if (!report || !isLong) return NOTHING;
      const { name, channel, detail } = report;
      return one({
        accountId: null,
        kind: 'carrier_down',
        cause: carrier,
        summary: `${name} (${channel}) has been down since ${since.toISOString()}${detail === null ? '.' : `: ${detail}`}`,
        detail: { channel, name, downSince: since.toISOString(), reason: detail },
      });
    }),
  ]);
}

/**
 * Keeps an alert about a sign-in until its time has passed. It opens with the sign-in, and the person can resolve it
 * before (R488).
 */
export function signInVerdict({ accountId, kind, cause, openedAt }: Alert, now: Date): Verdict {
  return now.getTime() - openedAt.getTime() < UNCONFIRMED_MS ? keep(accountId, kind, cause) : NOTHING;
}

const keyOf = ({ accountId, kind, cause }: AlertSubject) => JSON.stringify([accountId, kind, cause]);

/** What a verdict changes. */
export interface AlertChanges<Open extends Alert> {
  /** The findings without an open alert. */
  readonly begun: readonly Finding[];
  /** The open alerts that the verdict neither finds nor keeps. */
  readonly ended: readonly Open[];
  readonly lasting: readonly Open[];
}

/** Compares the open alerts with a verdict. */
export function changesOf<Open extends Alert>(
  open: readonly Open[],
  { found, kept }: Verdict,
): AlertChanges<Open> {
  const holds = new Set([...found, ...kept].map(keyOf));
  const opened = new Set(open.map(keyOf));
  return {
    begun: found.filter((finding) => !opened.has(keyOf(finding))),
    ended: open.filter((alert) => !holds.has(keyOf(alert))),
    lasting: open.filter((alert) => holds.has(keyOf(alert))),
  };
}
