import { z } from 'zod';
import { accountResource } from '../../domain/accounts/account.ts';
import type { ShownLimits } from '../../domain/limits/send-limit-operations.ts';
import { defineRoute, type Route } from '../define-route.ts';

/** Schema of send limits in answers (R370). */
export const sendLimits = z
  .object({
    of: z.enum(['account', 'key']),
    keyId: z.string().nullable(),
    currency: z.string(),
    spendPerHour: z
      .number()
      .nullable()
      .describe('The most to spend in an hour of UTC, in `currency`; null: no limit.'),
    spendPerDay: z.number().nullable().describe('The most to spend on a day of UTC, in `currency`.'),
    recipientsPerDay: z.int().nullable().describe('The most recipients on a day of UTC.'),
    perNumberPerHour: z.int().nullable().describe('The most messages to one phone number in an hour.'),
    allowedPrefixes: z
      .array(z.string())
      .nullable()
      .describe('Leading digits of the phone numbers that may be sent to; null: all.'),
    openedPrefixes: z
      .array(z.string())
      .describe('Leading digits of premium-rate, shared-cost and satellite numbers that may be sent to.'),
    used: z.object({
      spendThisHour: z.number(),
      spendToday: z.number(),
      recipientsToday: z.int(),
    }),
  })
  .meta({ id: 'SendLimits' });
/** The limits that a request may change, for a key and for an account. */
export const limitChanges = {
  spendPerHour: z.number().nullable().optional().describe('In the currency of the account.'),
  spendPerDay: z.number().nullable().optional().describe('In the currency of the account.'),
  recipientsPerDay: z.int().nullable().optional(),
  perNumberPerHour: z.int().nullable().optional().describe('Messages to one phone number.'),
  allowedPrefixes: z
    .array(z.string())
    .nullable()
    .optional()
    .describe('Leading digits of phone numbers, without `+`: 1 to 100 prefixes.'),
};
export const limitsResource = (limits: ShownLimits) => ({
  ...limits,
  allowedPrefixes: limits.allowedPrefixes && [...limits.allowedPrefixes],
  openedPrefixes: [...limits.openedPrefixes],
});

export const accountRoutes: readonly Route[] = [
  defineRoute({
    method: 'get',
    path: '/account',
    summary: 'The account of the key, its balance and currency',
    tag: 'Account',
    operation: (operations) => operations.accounts.get,
    response: z
      .object({
        id: z.string(),
        email: z.string(),
        balance: z.number().describe('In units of `currency`.'),
        currency: z.string().describe('ISO 4217 code.'),
      })
      .meta({ id: 'Account' }),
    async handle({ caller, operations }) {
      const account = await operations.accounts.get.run(caller, {});
      return { body: accountResource(account) };
    },
  }),
  defineRoute({
    method: 'get',
    path: '/account/limits',
    summary: 'The send limits that apply to the key, and what is used of them',
    tag: 'Account',
    operation: (operations) => operations.sendLimits.list,
    response: z.object({ limits: z.array(sendLimits) }),
    async handle({ caller, operations }) {
      const limits = await operations.sendLimits.list.run(caller, {});
      return { body: { limits: limits.map(limitsResource) } };
    },
  }),
  defineRoute({
    method: 'put',
    path: '/account/limits',
    summary: 'Lower the send limits of the account, with effect from the next request',
    tag: 'Account',
    operation: (operations) => operations.sendLimits.setOfAccount,
    body: z.object({
      ...limitChanges,
      openedPrefixes: z
        .array(z.string())
        .optional()
        .describe(
          'Leading digits of premium-rate, shared-cost and satellite numbers: a part of what is opened.',
        ),
    }),
    response: z.object({ limits: sendLimits }),
    examples: { day: { body: { spendPerDay: 300000, allowedPrefixes: ['256', '254'] } } },
    async handle({ caller, operations, body }) {
      const limits = await operations.sendLimits.setOfAccount.run(caller, body);
      return { body: { limits: limitsResource(limits) } };
    },
  }),
];
