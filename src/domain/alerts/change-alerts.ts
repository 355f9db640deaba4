import type { OpenedAlert } from '../ports/alert-store.ts';
import { NO_ACCOUNT } from '../ports/changes.ts';
import type { PersonMailJob } from '../ports/job-queue.ts';
import type { Mailer } from '../ports/mailer.ts';
import type { Tx } from '../ports/stores.ts';
import type { Ids } from '../ports/system.ts';
import { eventEnvelope, type NewEvent } from '../webhooks/event.ts';
import { recordEvents } from '../webhooks/fan-out.ts';
import {
  ALERT_KIND_DESCRIPTIONS,
  type AlertKind,
  type AlertRuleChange,
  personOf,
  ruleOf,
  stateOf,
} from './alert.ts';
import type { AlertChanges } from './find-alerts.ts';

const HOUR_MS = 3_600_000;
/** About one cause, people get mails at most once in this time, in ms (R482). */
const MAIL_EVERY_MS = 24 * HOUR_MS;
/** A mail about an alert is useless after this time, in ms. */
const MAIL_UNTIL_MS = 24 * HOUR_MS;

/** The beginning of the subject of a mail. */
export const ALERT_SUBJECTS: Readonly<Record<AlertKind, string>> = {
  balance_low: 'The balance is low',
  limit_near: 'A send limit is nearly reached',
  webhook_failing: 'A webhook is failing',
  delivery_rate_low: 'Fewer messages are delivered than usual',
  key_expiring: 'An API key is about to expire',
  sender_rejected: 'A sender was rejected',
  messages_held: 'Messages are held for review',
  sign_in_new_country: 'A sign-in from a new country',
  carrier_down: 'A carrier is down',
};

export interface AlertSystem {
  readonly ids: Ids;
  readonly mailer: Pick<Mailer, 'isConfigured'>;
}

/**
 * Opens an alert for each finding whose cause has none, and resolves the alerts that have ended, with their events and
 * mails (R481 to R483). An alert whose rule is switched off is resolved silently.
 */
export async function changeAlerts(
  tx: Tx,
  system: AlertSystem,
  { begun, ended, lasting }: AlertChanges<OpenedAlert>,
  rules: readonly AlertRuleChange[],
  now: Date,
): Promise<void> {
  const resolved = await tx.alerts.resolve(
    ended.map(({ id }) => id),
    now,
  );
  const opened = await tx.alerts.insert(
    begun.map((finding) => ({ ...finding, id: system.ids.uuid() })),
    now,
  );
  const changed = [...resolved, ...opened];
  if (changed.length > 0) {
    tx.announceLive(
      'alert',
      changed.map(({ id, accountId }) => ({ accountId: accountId ?? NO_ACCOUNT, id })),
    );
  }
  const isTold = ({ accountId, kind }: OpenedAlert) => ruleOf(rules, accountId, kind).isEnabled;
  // All events at once: this locks the feeds of the accounts in one order, so that no two processes wait for each other.
  await recordEvents(
    tx,
    system.ids,
    changed.filter(isTold).flatMap((alert) => eventOf(alert, now)),
  );
  if (!system.mailer.isConfigured) return;
  for (const alert of resolved.filter((each) => each.isMailed && isTold(each))) {
    await mail(tx, alert, rules, now);
  }
  await mailOpenings(tx, [...opened, ...lasting].filter(isTold), rules, now);
}

/**
 * Mails about open alerts of which nobody was told yet: new ones, and those for which it was too early, because a mail
 * about the same cause was sent shortly before they opened (R482).
 */
async function mailOpenings(
  tx: Tx,
  open: readonly OpenedAlert[],
  rules: readonly AlertRuleChange[],
  now: Date,
): Promise<void> {
  const unmailed = open.filter(({ isMailed }) => !isMailed);
  const ids = unmailed.map(({ id }) => id);
  const due = await tx.alerts.unmailedSince(ids, new Date(now.getTime() - MAIL_EVERY_MS));
  const mailed: string[] = [];
  for (const alert of unmailed.filter(({ id }) => due.has(id))) {
    if (await mail(tx, alert, rules, now)) mailed.push(alert.id);
  }
  await tx.alerts.noteMailed(mailed, now);
}

function eventOf(alert: OpenedAlert, now: Date): NewEvent[] {
  const { accountId, detail } = alert;
  const type = ALERT_KIND_DESCRIPTIONS[alert.kind].event;
  if (type === null || accountId === null) return [];
  const data = {
    alertId: alert.id,
    state: stateOf(alert),
    openedAt: alert.openedAt.toISOString(),
    resolvedAt: alert.resolvedAt?.toISOString() ?? null,
    ...detail,
  };
  return [
    {
      accountId,
      environment: 'production',
      type,
      messageId: null,
      position: null,
      recordedAt: now,
      body: eventEnvelope({ type, channel: 'system', messageId: null, recordedAt: now, data }),
      source: null,
      ...(typeof detail.webhookId === 'string' && { exceptWebhookId: detail.webhookId }),
    },
  ];
}

/**
 * Mails the people whom the rule names, or the owners and administrators, or the operators (R482), and always the person
 * whose sign-in the alert is about (R488). Returns false if there is nobody.
 */
async function mail(
  tx: Tx,
  alert: OpenedAlert,
  rules: readonly AlertRuleChange[],
  now: Date,
): Promise<boolean> {
  const { accountId, kind } = alert;
  const { mailTo } = ruleOf(rules, accountId, kind);
  const concerned = personOf(alert);
  if (mailTo?.length === 0 && concerned === undefined) return false;
  const people = accountId === null ? await tx.users.operators() : await tx.users.members(accountId);
  const told = people.filter(({ id, role, acceptedAt }) => {
    if (id === concerned) return true;
    if (acceptedAt === null) return false;
    return mailTo?.includes(id) ?? (accountId === null || role === 'OWNER' || role === 'ADMIN');
  });
  await tx.jobs.enqueue(
    told.map(({ id: userId }) => {
      const data: PersonMailJob = {
        kind: 'alert',
        userId,
        alertId: alert.id,
        state: stateOf(alert),
        until: new Date(now.getTime() + MAIL_UNTIL_MS).toISOString(),
      };
      return { queue: 'person-mail', routeKey: 'person-mail', data } as const;
    }),
  );
  return told.length > 0;
}
