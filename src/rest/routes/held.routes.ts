import { z } from 'zod';
import { defineRoute, type Route } from '../define-route.ts';
import { isoTime } from '../schemas.ts';

const block = z
  .object({
    block: z.string().describe('The leading digits of the numbers: all but the last three.'),
    messages: z.int(),
    recipients: z.int(),
    cost: z.number().describe('What they cost if they are released, in `currency`.'),
    currency: z.string(),
    heldSince: isoTime.describe('When the oldest of them was accepted.'),
    expiresAt: isoTime.describe('When the oldest of them fails if nobody decides.'),
  })
  .meta({ id: 'HeldBlock' });

export const heldRoutes: readonly Route[] = [
  defineRoute({
    method: 'get',
    path: '/developers/held',
    summary: 'Messages that are held for review, by block of numbers',
    tag: 'Messages',
    operation: (operations) => operations.held.list,
    response: z.object({ held: z.array(block) }),
    async handle({ caller, operations }) {
      const held = await operations.held.list.run(caller, {});
      return {
        body: {
          held: held.map((one) => ({
            ...one,
            heldSince: one.heldSince.toISOString(),
            expiresAt: one.expiresAt.toISOString(),
          })),
        },
      };
    },
  }),
];
