import { z } from 'zod';
import { fromMinor } from '../../domain/money/money.ts';
import { defineRoute, type Route } from '../define-route.ts';

export const accountRoutes: readonly Route[] = [
  defineRoute({
    method: 'get',
    path: '/account',
    summary: 'The account of the key, its balance and currency',
    tag: 'Account',
    operation: (operations) => operations.accounts.get,
    response: z.object({ id: z.string(), email: z.string(), balance: z.number(), currency: z.string() }),
    async handle({ caller, operations }) {
      const account = await operations.accounts.get.run(caller, {});
      return {
        body: {
          id: account.id,
          email: account.email,
          balance: fromMinor(account.balanceMinor, account.currency),
          currency: account.currency,
        },
      };
    },
  }),
];
