import { type Alert, type AlertKind, type AlertRule, ruleOf } from '../../domain/alerts/alert.ts';
import { changeAlerts } from '../../domain/alerts/change-alerts.ts';
import {
  allOf,
  balanceVerdict,
  carrierVerdict,
  changesOf,
  type DownSince,
  deliveryVerdict,
  heldVerdict,
  keyVerdict,
  limitVerdict,
  mayBeLow,
  noteDown,
  senderVerdict,
  signInVerdict,
  type Verdict,
  webhookVerdict,
} from '../../domain/alerts/find-alerts.ts';
import { STALE_MS } from '../../domain/messages/provider-health.ts';
import type { Logger } from '../../domain/ports/logger.ts';
import type { Mailer } from '../../domain/ports/mailer.ts';
import type { Stores, Tx, UnitOfWork } from '../../domain/ports/stores.ts';
import type { Clock, Ids } from '../../domain/ports/system.ts';
import { FIRST_UUID } from '../../domain/uuid.ts';

const SWEEP = 'alerts';
const CARRIER_SWEEP = 'alerts-carriers';
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
 * Opens and resolves alerts (R480). Carriers have a round of their own, so that nothing about accounts delays their
 * alerts. It also resolves the operators' other alerts. The round of accounts looks at all of them, in transactions of a few accounts each. The marks of the sweeps are
 * locked meanwhile, so that one process at a time does this. Several processes share a round.
 */
export class WatchAlerts {
  readonly #parts: WatchParts;
  readonly #logger: Logger;
  #downSince: DownSince = new Map();

  constructor(parts: WatchParts, logger: Logger) {
    this.#parts = parts;
    this.#logger = logger;
  }

  /**
   * Looks at all carriers, if the last look was long enough ago. Returns false if it was not, and while another process
   * looks.
   */
  async watchCarriers(everyMs = ROUND_EVERY_MS): Promise<boolean> {
    const { stores, uow, clock } = this.#parts;
    const now = clock.now();
    const reports = await stores.providerHealth.publishedSince(new Date(now.getTime() - STALE_MS));
    // Every process notes this, because any of them may do the next round.
    this.#downSince = noteDown(this.#downSince, reports, now);
    return uow.run(async (tx) => {
      const mark = await tx.sweeps.claim(CARRIER_SWEEP);
      if (!mark || now.getTime() - mark.at.getTime() < everyMs) return false;
      await tx.sweeps.advance(CARRIER_SWEEP, { at: now, id: FIRST_UUID });
      const rules = await tx.alerts.ruleChanges([null]);
      const open = await tx.alerts.open([null]);
      const openOf = (kind: AlertKind) => open.filter((alert) => alert.kind === kind);
      const rule = ruleOf(rules, null, 'carrier_down');
      const verdict = allOf([
        ...(rule.isEnabled
          ? [carrierVerdict(this.#downSince, reports, rule, openOf('carrier_down'), now)]
          : []),
        ...(ruleOf(rules, null, 'sign_in_new_country').isEnabled
          ? openOf('sign_in_new_country').map((alert) => signInVerdict(alert, now))
          : []),
      ]);
      await changeAlerts(tx, this.#parts, changesOf(open, verdict), rules, now);
      return true;
    });
  }

  /**
   * Begins a round over all accounts, if the last one began long enough ago, or goes on with one. Returns true if it came
   * to the end of the round, and false if no round is due or another process goes on with it.
   */
  async watchAccounts(everyMs = ROUND_EVERY_MS): Promise<boolean> {
    const { stores, clock } = this.#parts;
    const failedUntil = { id: FIRST_UUID };
    let step: Step;
    do step = await this.#step(everyMs, failedUntil);
    while (step === 'more');
    if (step === 'none') return false;
    await stores.alerts.forget(new Date(clock.now().getTime() - KEPT_MS), FORGET);
    return true;
  }

  /**
   * Looks at the next accounts of the round. If this fails, `failedUntil` gets the last of them, and from then on the
   * accounts up to it are looked at one by one, so that one account whose look fails stops no alerts of others.
   */
  async #step(everyMs: number, failedUntil: { id: string }): Promise<Step> {
    let batch: readonly string[] = [];
    let from = FIRST_UUID;
    try {
      return await this.#parts.uow.run(async (tx) => {
        const now = this.#parts.clock.now();
        const mark = await tx.sweeps.claim(SWEEP);
        if (!mark) return 'none';
        const isStart = mark.id === FIRST_UUID;
        if (isStart && now.getTime() - mark.at.getTime() < everyMs) return 'none';
        from = mark.id;
        const limit = mark.id < failedUntil.id ? 1 : ACCOUNTS;
        batch = await tx.alertFacts.accountsAfter(mark.id, limit);
        if (batch.length > 0) await this.#watchAccounts(tx, batch);
        const isFull = batch.length === limit;
        await tx.sweeps.advance(SWEEP, {
          at: isStart ? now : mark.at,
          id: (isFull && batch.at(-1)) || FIRST_UUID,
        });
        return isFull ? 'more' : 'end';
      });
    } catch (error) {
      const last = batch.at(-1);
      if (last === undefined) throw error;
      if (batch.length > 1) {
        failedUntil.id = last;
        return 'more';
      }
      this.#logger.error({ err: error, accountId: last }, 'the alerts of an account cannot be looked at');
      await this.#stepOver(from, last);
      return 'more';
    }
  }

  /** Goes on after an account, unless another process has done so meanwhile. */
  async #stepOver(from: string, accountId: string): Promise<void> {
    await this.#parts.uow.run(async (tx) => {
      const mark = await tx.sweeps.claim(SWEEP);
      if (mark?.id !== from) return;
      const at = from === FIRST_UUID ? this.#parts.clock.now() : mark.at;
      await tx.sweeps.advance(SWEEP, { at, id: accountId });
    });
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
      ...judge('messages_held', await tx.held.blocks(accountIds), heldVerdict),
      ...judge('sign_in_new_country', open.flatMap(signInOf), ({ alert }) => signInVerdict(alert, now)),
      ...judge('sender_rejected', await facts.rejectedSenders(accountIds), senderVerdict),
      ...(await this.#judgeDeliveries(tx, accountIds, open, judge, now)),
    ]);
    await changeAlerts(tx, this.#parts, changesOf(open, verdict), rules, now);
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
}

/** What a step of a round did: nothing, a part, or the last part. */
type Step = 'none' | 'more' | 'end';

/** Judges each fact by the rule of its account. Leaves out the facts whose rule is switched off. */
type Judge = <Fact extends { readonly accountId: string }, Result>(
  kind: AlertKind,
  facts: readonly Fact[],
  judgeOne: (fact: Fact, rule: AlertRule) => Result,
) => readonly Result[];

/** Returns an alert about a sign-in with its account. Nothing for other alerts. */
function signInOf(alert: Alert) {
  const { accountId, kind } = alert;
  return kind === 'sign_in_new_country' && accountId !== null ? [{ accountId, alert }] : [];
}

interface AccountChannel {
  readonly accountId: string | null;
  readonly channel: string;
}
const isSameChannel = (left: AccountChannel, right: AccountChannel) =>
  left.accountId === right.accountId && left.channel === right.channel;
