import {
  type Alert,
  type AlertKind,
  type AlertRule,
  type AlertRuleChange,
  ruleOf,
} from '../../domain/alerts/alert.ts';
import { openAlerts, resolveAlerts } from '../../domain/alerts/change-alerts.ts';
import {
  allOf,
  balanceVerdict,
  carrierVerdict,
  type DownSince,
  deliveryVerdict,
  endedOf,
  keyVerdict,
  limitVerdict,
  mayBeLow,
  noteDown,
  senderVerdict,
  type Verdict,
  webhookVerdict,
} from '../../domain/alerts/find-alerts.ts';
import { STALE_MS } from '../../domain/messages/provider-health.ts';
import type { Mailer } from '../../domain/ports/mailer.ts';
import type { PublishedStatus } from '../../domain/ports/routing.ts';
import type { Stores, Tx, UnitOfWork } from '../../domain/ports/stores.ts';
import type { Clock, Ids } from '../../domain/ports/system.ts';
import { FIRST_UUID } from '../../domain/uuid.ts';

const SWEEP = 'alerts';
/** Number of accounts that one transaction looks at. */
const ACCOUNTS = 200;
const MINUTE_MS = 60_000;
const DAY_MS = 24 * 3_600_000;
/** A round begins this long, in ms, after the one before it at the earliest. This is less than a minute. */
const ROUND_EVERY_MS = 55_000;
const QUARTER_HOUR_MS = 15 * MINUTE_MS;
/** The usual delivery rate is that of the last 28 days. */
const USUAL_DAYS = 28;
/** Resolved alerts are kept for this long, in ms. */
const KEPT_MS = 400 * DAY_MS;
const FORGET = 500;
/** Longest time in days before its expiry at which a key is looked at: the greatest threshold. */
const KEY_DAYS = 90;

export interface WatchParts {
  readonly stores: Pick<Stores, 'providerHealth' | 'alerts'>;
  readonly uow: UnitOfWork;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly mailer: Pick<Mailer, 'isConfigured'>;
}

/**
 * Opens and resolves alerts (R480). Rounds look at all accounts, in transactions of a few accounts each. The mark of the
 * sweep is locked meanwhile, so that one process at a time does this. Several processes share a round.
 */
export class WatchAlerts {
  readonly #parts: WatchParts;
  #downSince: DownSince = new Map();

  constructor(parts: WatchParts) {
    this.#parts = parts;
  }

  /** Begins a round, if the last one began long enough ago, and goes on until its end. */
  async run(everyMs = ROUND_EVERY_MS): Promise<void> {
    const { stores, uow, clock } = this.#parts;
    const now = clock.now();
    const reports = await stores.providerHealth.publishedSince(new Date(now.getTime() - STALE_MS));
    // Every process notes this, because any of them may do the next round.
    this.#downSince = noteDown(this.#downSince, reports, now);
    const isDue = await uow.run(async (tx) => {
      const mark = await tx.sweeps.claim(SWEEP);
      if (!mark) return false;
      if (mark.id !== FIRST_UUID) return true;
      if (now.getTime() - mark.at.getTime() < everyMs) return false;
      await tx.sweeps.advance(SWEEP, { at: now, id: FIRST_UUID });
      await this.#watchCarriers(tx, reports, now);
      return true;
    });
    if (!isDue) return;
    while (await this.#watchSome());
    await stores.alerts.forget(new Date(now.getTime() - KEPT_MS), FORGET);
  }

  /** Looks at the next accounts of the round. Returns false at its end, and while another process does this. */
  async #watchSome(): Promise<boolean> {
    return this.#parts.uow.run(async (tx) => {
      const mark = await tx.sweeps.claim(SWEEP);
      if (!mark) return false;
      const accountIds = await tx.alertFacts.accountsAfter(mark.id, ACCOUNTS);
      if (accountIds.length > 0) await this.#watchAccounts(tx, accountIds);
      const isFull = accountIds.length === ACCOUNTS;
      await tx.sweeps.advance(SWEEP, { at: mark.at, id: (isFull && accountIds.at(-1)) || FIRST_UUID });
      return isFull;
    });
  }

  async #watchCarriers(tx: Tx, reports: readonly PublishedStatus[], now: Date): Promise<void> {
    const rules = await tx.alerts.ruleChanges([null]);
    const rule = ruleOf(rules, null, 'carrier_down');
    const verdict = rule.isEnabled ? carrierVerdict(this.#downSince, reports, rule, now) : allOf([]);
    await this.#apply(tx, verdict, await tx.alerts.open([null]), rules, now);
  }

  async #watchAccounts(tx: Tx, accountIds: readonly string[]): Promise<void> {
    const now = this.#parts.clock.now();
    const { alertFacts: facts } = tx;
    const rules = await tx.alerts.ruleChanges(accountIds);
    const open = await tx.alerts.open(accountIds);
    const openOf = (accountId: string, kind: AlertKind, cause: string) =>
      open.find((alert) => alert.accountId === accountId && alert.kind === kind && alert.cause === cause);
    const judge: Judge = (kind, all, judgeOne) =>
      all.flatMap((fact) => {
        const rule = ruleOf(rules, fact.accountId, kind);
        return rule.isEnabled ? [judgeOne(fact, rule)] : [];
      });
    const spends = await facts.spend(accountIds, now);
    const currencies = new Map(spends.map(({ accountId, currency }) => [accountId, currency]));
    const keysBefore = new Date(now.getTime() + KEY_DAYS * DAY_MS);
    const verdict = allOf([
      ...judge('balance_low', spends, (spend, rule) =>
        balanceVerdict(spend, rule, openOf(spend.accountId, 'balance_low', 'balance')),
      ),
      ...judge('limit_near', await facts.limits(accountIds), (use, rule) =>
        limitVerdict(use, currencies.get(use.accountId) ?? '', rule),
      ),
      ...judge('webhook_failing', await facts.webhooks(accountIds), (webhook, rule) =>
        webhookVerdict(webhook, rule, now),
      ),
      ...judge('key_expiring', await facts.endingKeys(accountIds, now, keysBefore), (key, rule) =>
        keyVerdict(key, rule, now),
      ),
      ...judge('sender_rejected', await facts.rejectedSenders(accountIds), senderVerdict),
      ...(await this.#judgeDeliveries(tx, accountIds, open, judge, now)),
    ]);
    await this.#apply(tx, verdict, open, rules, now);
  }

  /**
   * Compares delivery rates. The hour has ended a quarter of an hour ago, because reports arrive late. The usual rate is
   * read only for accounts whose hour may be too low.
   */
  async #judgeDeliveries(
    tx: Tx,
    accountIds: readonly string[],
    open: readonly Alert[],
    judge: Judge,
    now: Date,
  ): Promise<readonly Verdict[]> {
    const end = Math.floor(now.getTime() / QUARTER_HOUR_MS) * QUARTER_HOUR_MS - QUARTER_HOUR_MS;
    const hour = { from: new Date(end - 4 * QUARTER_HOUR_MS), to: new Date(end) };
    const hours = await tx.alertFacts.outcomes(accountIds, hour, false);
    const low = judge('delivery_rate_low', hours, (outcomes, rule) =>
      mayBeLow(outcomes, rule) ? outcomes : null,
    );
    const lowAccounts = [...new Set(low.flatMap((outcomes) => outcomes?.accountId ?? []))];
    const today = new Date(Math.floor(hour.from.getTime() / DAY_MS) * DAY_MS);
    const before = { from: new Date(today.getTime() - USUAL_DAYS * DAY_MS), to: today };
    const usual = lowAccounts.length > 0 ? await tx.alertFacts.outcomes(lowAccounts, before, true) : [];
    const waiting = open.flatMap((alert) =>
      alert.kind === 'delivery_rate_low' && alert.accountId !== null
        ? [{ accountId: alert.accountId, channel: alert.cause }]
        : [],
    );
    const subjects = [...hours, ...waiting].filter(
      (each, index, all) => all.findIndex((other) => isSameChannel(other, each)) === index,
    );
    return judge('delivery_rate_low', subjects, (subject, rule) =>
      deliveryVerdict(
        subject,
        hours.find((each) => isSameChannel(each, subject)),
        usual.find((each) => isSameChannel(each, subject)),
        rule,
        open.find(
          (alert) =>
            alert.kind === 'delivery_rate_low' &&
            isSameChannel(subject, { accountId: alert.accountId, channel: alert.cause }),
        ),
        now,
      ),
    );
  }

  async #apply(
    tx: Tx,
    verdict: Verdict,
    open: readonly Alert[],
    rules: readonly AlertRuleChange[],
    now: Date,
  ): Promise<void> {
    const ended = endedOf(open, verdict).map(({ id }) => id);
    await resolveAlerts(tx, this.#parts, ended, rules, now);
    await openAlerts(tx, this.#parts, verdict.found, rules, now);
  }
}

/** Judges each fact by the rule of its account. Leaves out the facts whose rule is switched off. */
type Judge = <Fact extends { readonly accountId: string }, Result>(
  kind: AlertKind,
  facts: readonly Fact[],
  judgeOne: (fact: Fact, rule: AlertRule) => Result,
) => readonly Result[];

interface AccountChannel {
  readonly accountId: string | null;
  readonly channel: string;
}
const isSameChannel = (left: AccountChannel, right: AccountChannel) =>
  left.accountId === right.accountId && left.channel === right.channel;
