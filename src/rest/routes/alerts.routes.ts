import { z } from 'zod';
import {
  ALERT_KINDS,
  ALERT_STATES,
  type Alert,
  stateOf,
  THRESHOLD_UNITS,
} from '../../domain/alerts/alert.ts';
import type { ShownRule } from '../../domain/alerts/alert-operations.ts';
import { defineRoute, type Route } from '../define-route.ts';
import { envelope, isoTime, pageQuery, paginated } from '../schemas.ts';

const TAG = 'Alerts';
const kind = z.enum(ALERT_KINDS);
const alert = z
  .object({
    id: z.string(),
    kind,
    state: z.enum(ALERT_STATES),
    summary: z.string().describe('What was found when it opened, in a sentence.'),
    detail: z
      .record(z.string(), z.unknown())
      .describe('The facts when it opened. Members depend on the kind; more may be added.'),
    openedAt: isoTime,
    resolvedAt: isoTime.nullable().describe('When its cause had ended. Null while it is open.'),
  })
  .meta({ id: 'Alert' });
const rule = z
  .object({
    kind,
    description: z.string().describe('When an alert opens, in a sentence.'),
    isEnabled: z.boolean(),
    threshold: z.number().nullable().describe('Null for a kind without threshold.'),
    thresholdUnit: z.enum(THRESHOLD_UNITS).nullable(),
    defaultThreshold: z.number().nullable(),
    isAvailable: z
      .boolean()
      .describe(
        'False if the gateway lacks what the kind needs: sign-ins from new countries need COUNTRY_DATABASE or COUNTRY_HEADER.',
      ),
    mailTo: z
      .array(z.string())
      .nullable()
      .describe(
        'Email addresses of the people who get mails. Empty: nobody. Null: the owners and administrators.',
      ),
  })
  .meta({ id: 'AlertRule' });

function alertResource(one: Alert) {
  return {
    id: one.id,
    kind: one.kind,
    state: stateOf(one),
    summary: one.summary,
    detail: { ...one.detail },
    openedAt: one.openedAt.toISOString(),
    resolvedAt: one.resolvedAt?.toISOString() ?? null,
  };
}

const ruleResource = (one: ShownRule) => ({ ...one, mailTo: one.mailTo && [...one.mailTo] });

export const alertRoutes: readonly Route[] = [
  defineRoute({
    method: 'get',
    path: '/developers/alerts',
    summary: "The account's alerts, the newest first",
    tag: TAG,
    operation: (operations) => operations.alerts.list,
    query: pageQuery.extend({
      state: z.enum(ALERT_STATES).optional(),
      kind: kind.optional(),
    }),
    response: envelope(alert),
    async handle({ caller, operations, query: { page, limit, ...filter } }) {
      const request = { page, limit };
      const found = await operations.alerts.list.run(caller, { ...filter, page: request });
      return { body: paginated(found, request, alertResource) };
    },
  }),
  defineRoute({
    method: 'get',
    path: '/developers/alert-rules',
    summary: 'When alerts open, and who gets mails about them',
    tag: TAG,
    operation: (operations) => operations.alerts.rules,
    response: z.object({ rules: z.array(rule) }),
    async handle({ caller, operations }) {
      const rules = await operations.alerts.rules.run(caller, {});
      return { body: { rules: rules.map(ruleResource) } };
    },
  }),
  defineRoute({
    method: 'put',
    path: '/developers/alert-rules',
    summary: 'Change when a kind of alert opens, and who gets mails about it',
    tag: TAG,
    operation: (operations) => operations.alerts.setRule,
    body: z.object({
      kind,
      isEnabled: z.boolean().optional().describe('Whether such alerts open.'),
      threshold: z.number().nullable().optional().describe('In the unit of the kind. Null: the default.'),
      mailTo: z
        .array(z.string())
        .nullable()
        .optional()
        .describe('Email addresses of people of the account, at most 20. Empty: nobody. Null: the default.'),
    }),
    response: z.object({ rule }),
    examples: {
      threshold: { summary: 'Warn five days ahead', body: { kind: 'balance_low', threshold: 5 } },
      off: { summary: 'No alerts of a kind', body: { kind: 'key_expiring', isEnabled: false } },
    },
    async handle({ caller, operations, body }) {
      return { body: { rule: ruleResource(await operations.alerts.setRule.run(caller, body)) } };
    },
  }),
];
