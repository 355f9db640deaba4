import { z } from 'zod';
import {
  SUPPRESSED_CHANNELS,
  SUPPRESSION_SCOPES,
  SUPPRESSION_SOURCES,
  type Suppression,
} from '../../domain/suppressions/suppression.ts';
import { defineRoute, type Route } from '../define-route.ts';
import {
  envelope,
  environment,
  environmentQuery,
  idParams,
  isoTime,
  pageQuery,
  paginated,
} from '../schemas.ts';

const TAG = 'Suppressions';
const suppression = z
  .object({
    id: z.string(),
    environment,
    channel: z.enum(SUPPRESSED_CHANNELS),
    address: z.string().describe('A phone number in E.164, or an email address in lower case.'),
    scope: z.enum(SUPPRESSION_SCOPES).describe('`all`: for every purpose.'),
    source: z
      .enum(SUPPRESSION_SOURCES)
      .describe(
        '`api`: a key. `person`: a member of the account. `stop`, `link`: the recipient, by a message or by a link. `bounce`: a mail server that knows no such address. `import`: a file.',
      ),
    reason: z.string().nullable(),
    at: isoTime,
  })
  .meta({ id: 'Suppression' });

const resource = ({ id, channel, address, scope, source, reason, createdAt, ...of }: Suppression) => ({
  id,
  environment: of.environment,
  channel,
  address,
  scope,
  source,
  reason,
  at: createdAt.toISOString(),
});

export const suppressionRoutes: readonly Route[] = [
  defineRoute({
    method: 'get',
    path: '/developers/suppressions',
    summary: 'Addresses that get no messages, the newest first',
    tag: TAG,
    operation: (operations) => operations.suppressions.list,
    query: pageQuery.extend({
      channel: z.enum(SUPPRESSED_CHANNELS).optional(),
      address: z.string().optional().describe('A phone number or an email address in any form.'),
      environment: environmentQuery,
    }),
    response: envelope(suppression),
    async handle({ caller, operations, query: { page, limit, ...filter } }) {
      const request = { page, limit };
      const found = await operations.suppressions.list.run(caller, { ...filter, page: request });
      return { body: paginated(found, request, resource) };
    },
  }),
  defineRoute({
    method: 'post',
    path: '/developers/suppressions',
    summary: 'Suppress an address; an address that is suppressed already gets the new scope and reason',
    tag: TAG,
    operation: (operations) => operations.suppressions.add,
    successStatus: 201,
    body: z.object({
      channel: z.enum(SUPPRESSED_CHANNELS),
      address: z.string().describe('A phone number in any form that a send accepts, or an email address.'),
      scope: z
        .enum(SUPPRESSION_SCOPES)
        .describe('`marketing` stops messages of that purpose, `all` every message.'),
      reason: z.string().optional().describe('At most 200 characters.'),
    }),
    response: z.object({ suppression }),
    examples: {
      asked: {
        body: { channel: 'sms', address: '+256700123456', scope: 'marketing', reason: 'Asked on the phone' },
      },
    },
    async handle({ caller, operations, body }) {
      return { body: { suppression: resource(await operations.suppressions.add.run(caller, body)) } };
    },
  }),
  defineRoute({
    method: 'delete',
    path: '/developers/suppressions/:id',
    summary: 'Remove a suppression; the address gets messages again',
    tag: TAG,
    operation: (operations) => operations.suppressions.remove,
    params: idParams,
    examples: {
      added: {
        params: {
          id: {
            route: 'POST /developers/suppressions',
            at: 'suppression.id',
            body: () => ({ channel: 'email', address: 'ann@example.com', scope: 'all' }),
          },
        },
      },
    },
    response: z.object({ id: z.string(), deleted: z.literal(true) }),
    async handle({ caller, operations, params }) {
      await operations.suppressions.remove.run(caller, params);
      return { body: { id: params.id, deleted: true as const } };
    },
  }),
];
