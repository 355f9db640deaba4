import { z } from 'zod';
import { defineRoute, type Route } from '../define-route.ts';
import { eventEnvelope, pageQuery } from '../schemas.ts';

export const eventRoutes: readonly Route[] = [
  defineRoute({
    method: 'get',
    path: '/developers/events',
    summary:
      "The account's events in order, 30 days back, the envelopes byte for byte as delivered; for a sandbox key the tests of sandbox endpoints only",
    tag: 'Events',
    operation: (operations) => operations.events.feed,
    query: pageQuery.pick({ limit: true }).extend({
      after: z
        .string()
        .optional()
        .describe(
          'The `cursor` of the answer before; absent to begin with the oldest event; `latest` for the cursor of the newest.',
        ),
    }),
    response: z.object({
      data: z.array(eventEnvelope),
      cursor: z.string().describe('Send it as `after` to go on from here, also when there was nothing new.'),
      hasMore: z.boolean(),
    }),
    async handle({ caller, operations, query }) {
      const { events, cursor, hasMore } = await operations.events.feed.run(caller, query);
      // Send the stored JSON texts unchanged. Parsing and writing them again could change their bytes.
      const data = events.map((event) => event.body).join(',');
      return { json: `{"data":[${data}],"cursor":${JSON.stringify(cursor)},"hasMore":${hasMore}}` };
    },
  }),
];
