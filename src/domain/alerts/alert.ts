/**
 * **Alert**: tells people of something that needs them (R480). A **rule** says when a kind of alert opens and who gets
 * mails. A **cause** is what an alert is about, such as one webhook. A cause has one open alert at most. The alert is
 * resolved when its cause has ended.
 *
 * Alerts of an account have its `accountId`. Those of the operators have null.
 */
import type { EventType } from '../webhooks/webhook.ts';

export const ALERT_KINDS = [
  'balance_low',
  'limit_near',
  'webhook_failing',
  'delivery_rate_low',
  'key_expiring',
  'sender_rejected',
  'messages_held',
  'sign_in_new_country',
  'carrier_down',
] as const;
export type AlertKind = (typeof ALERT_KINDS)[number];

export const ALERT_STATES = ['open', 'resolved'] as const;
export type AlertState = (typeof ALERT_STATES)[number];

export const THRESHOLD_UNITS = ['days', 'percent', 'minutes', 'points'] as const;
type ThresholdUnit = (typeof THRESHOLD_UNITS)[number];

/** The threshold of a kind: its default, and the smallest and the greatest value. */
export interface Threshold {
  readonly unit: ThresholdUnit;
  readonly standard: number;
  readonly least: number;
  readonly most: number;
}

interface KindDescription {
  /** Whom the alerts concern. */
  readonly of: 'account' | 'operators' | 'both';
  /** Null: the kind has no threshold. */
  readonly threshold: Threshold | null;
  /** The event that webhooks get when an alert opens and when it is resolved (R483). */
  readonly event: EventType | null;
  /** A sentence about when an alert opens. */
  readonly description: string;
}

export const ALERT_KIND_DESCRIPTIONS: Readonly<Record<AlertKind, KindDescription>> = {
  balance_low: {
    of: 'account',
    threshold: { unit: 'days', standard: 3, least: 0.5, most: 90 },
    event: 'account.balance_low',
    description: 'The balance lasts less than this many days at the current rate.',
  },
  limit_near: {
    of: 'account',
    threshold: { unit: 'percent', standard: 80, least: 1, most: 100 },
    event: 'account.limit_near',
    description: 'This part of a send limit is used.',
  },
  webhook_failing: {
    of: 'account',
    threshold: { unit: 'minutes', standard: 15, least: 0, most: 1_440 },
    event: 'webhook.failing',
    description: 'A webhook has been failing for this many minutes, or the gateway has switched it off.',
  },
  delivery_rate_low: {
    of: 'account',
    threshold: { unit: 'points', standard: 20, least: 5, most: 90 },
    event: null,
    description:
      'The delivery rate of an hour is this many percentage points below the usual rate of the channel.',
  },
  key_expiring: {
    of: 'account',
    threshold: { unit: 'days', standard: 7, least: 1, most: 90 },
    event: null,
    description: 'An API key expires within this many days.',
  },
  sender_rejected: {
    of: 'account',
    threshold: null,
    event: null,
    description: 'The operator has rejected a sender.',
  },
  messages_held: {
    of: 'account',
    threshold: null,
    event: null,
    description: 'Messages that look like SMS pumping are held for review.',
  },
  sign_in_new_country: {
    of: 'both',
    threshold: null,
    event: null,
    description: 'A person has signed in from a country where they had not signed in for 180 days.',
  },
  carrier_down: {
    of: 'operators',
    threshold: { unit: 'minutes', standard: 2, least: 0, most: 60 },
    event: null,
    description: 'A carrier or provider has been down for this many minutes in every worker process.',
  },
};

/** The changes of a kind's rule that an account or the operators have made. Null: the default. */
export interface AlertRuleChange {
  readonly accountId: string | null;
  readonly kind: AlertKind;
  readonly isEnabled: boolean;
  readonly threshold: number | null;
  readonly mailTo: readonly string[] | null;
}

/** A rule as it applies. */
export interface AlertRule {
  readonly kind: AlertKind;
  readonly isEnabled: boolean;
  /** Null for a kind without threshold. */
  readonly threshold: number | null;
  /** The ids of the people who get mails. Null: the owners and administrators, or all operators (R482). */
  readonly mailTo: readonly string[] | null;
}

/** Facts about an alert, as they were when it opened. Amounts are in units of the currency. */
export type AlertDetail = Readonly<Record<string, string | number | null>>;

/** Whose alert it is, and what it is about. */
export interface AlertSubject {
  readonly accountId: string | null;
  readonly kind: AlertKind;
  readonly cause: string;
}

/** Something that needs people, as it was found just now. */
export interface Finding extends AlertSubject {
  /** What was found, in a sentence. */
  readonly summary: string;
  readonly detail: AlertDetail;
}

export interface Alert extends Finding {
  readonly id: string;
  readonly openedAt: Date;
  readonly resolvedAt: Date | null;
}

export const stateOf = ({ resolvedAt }: Pick<Alert, 'resolvedAt'>): AlertState =>
  resolvedAt === null ? 'open' : 'resolved';

/** The kinds of alerts that name people and their IP addresses. API keys do not see them, as they see no people. */
export const KINDS_ABOUT_PEOPLE: readonly AlertKind[] = ['sign_in_new_country'];

/** An alert about a sign-in that the person does not confirm is resolved after this time, in ms (R488). */
export const UNCONFIRMED_MS = 7 * 24 * 3_600_000;

/** Returns the person whose sign-in an alert is about. Undefined for alerts about anything else. */
export function personOf({ kind, detail }: Pick<Alert, 'kind' | 'detail'>): string | undefined {
  return kind === 'sign_in_new_country' && typeof detail.userId === 'string' ? detail.userId : undefined;
}

/** True if an alert about a sign-in was resolved because the person did not confirm it in time. */
export function isUnconfirmed({ openedAt, resolvedAt }: Pick<Alert, 'openedAt' | 'resolvedAt'>): boolean {
  return resolvedAt !== null && resolvedAt.getTime() - openedAt.getTime() >= UNCONFIRMED_MS;
}

/** Returns the kinds of alerts that an account has, or that the operators have if `accountId` is null. */
export function kindsOf(accountId: string | null): readonly AlertKind[] {
  const own = ['both', accountId === null ? 'operators' : 'account'];
  return ALERT_KINDS.filter((kind) => own.includes(ALERT_KIND_DESCRIPTIONS[kind].of));
}

/** Returns the rule of a kind as it applies to an account, or to the operators if `accountId` is null. */
export function ruleOf(
  changes: readonly AlertRuleChange[],
  accountId: string | null,
  kind: AlertKind,
): AlertRule {
  const change = changes.find((each) => each.accountId === accountId && each.kind === kind);
  const standard = ALERT_KIND_DESCRIPTIONS[kind].threshold?.standard ?? null;
  return {
    kind,
    isEnabled: change?.isEnabled ?? true,
    threshold: change?.threshold ?? standard,
    mailTo: change?.mailTo ?? null,
  };
}
