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
  type Finding,
  ruleOf,
  stateOf,
} from './alert.ts';

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
  carrier_down: 'A carrier is down',
};

interface AlertSystem {
  readonly ids: Ids;
  readonly mailer: Pick<Mailer, 'isConfigured'>;
}

/** Opens an alert for each finding whose cause has none, with its event and its mails (R481 to R483). */
export async function openAlerts(
  tx: Tx,
  system: AlertSystem,
  findings: readonly Finding[],
  rules: readonly AlertRuleChange[],
  now: Date,
): Promise<void> {
  const asked = findings.map((finding) => ({ ...finding, id: system.ids.uuid() }));
  await tell(
    tx,
    system,
    await tx.alerts.insert(asked, now, new Date(now.getTime() - MAIL_EVERY_MS)),
    rules,
    now,
  );
}

/** Resolves open alerts, with their events and mails. An alert whose rule is switched off is resolved silently. */
export async function resolveAlerts(
  tx: Tx,
  system: AlertSystem,
  ids: readonly string[],
  rules: readonly AlertRuleChange[],
  now: Date,
): Promise<void> {
  await tell(tx, system, await tx.alerts.resolve(ids, now), rules, now);
}

async function tell(
  tx: Tx,
  system: AlertSystem,
  alerts: readonly OpenedAlert[],
  rules: readonly AlertRuleChange[],
  now: Date,
): Promise<void> {
  if (alerts.length === 0) return;
  tx.announceLive(
    'alert',
    alerts.map(({ id, accountId }) => ({ accountId: accountId ?? NO_ACCOUNT, id })),
  );
  const told = alerts.filter(({ accountId, kind }) => ruleOf(rules, accountId, kind).isEnabled);
  await recordEvents(
    tx,
    system.ids,
    told.flatMap((alert) => eventOf(alert, now)),
  );
  if (!system.mailer.isConfigured) return;
  for (const alert of told.filter(({ isMailed }) => isMailed)) await mail(tx, alert, rules, now);
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

/** Mails the people whom the rule names, or the owners and administrators, or the operators (R482). */
async function mail(tx: Tx, alert: OpenedAlert, rules: readonly AlertRuleChange[], now: Date): Promise<void> {
  const { accountId, kind } = alert;
  const { mailTo } = ruleOf(rules, accountId, kind);
  const people = accountId === null ? await tx.users.operators() : await tx.users.members(accountId);
  const told = people.filter(({ id, role, acceptedAt }) => {
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
}
