import { z } from 'zod';
import { accountResource } from '../../domain/accounts/account.ts';
import { defineRoute, type Route } from '../define-route.ts';

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
];
