import { z } from 'zod';
import {
  SUPPRESSED_CHANNELS,
  SUPPRESSION_SCOPES,
  SUPPRESSION_SOURCES,
  type Suppression,
} from '../../domain/suppressions/suppression.ts';
import { SUPPRESSION_FILE_MAX_ROWS } from '../../domain/suppressions/suppression-file.ts';
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
        '`api`: a key. `person`: a member of the account. `stop`, `link`: the recipient, by a message or by a link. `bounce`: a mail server that knows no such address. `import`: a file. `complaint`: the recipient, who reported an email as spam.',
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
    method: 'post',
    path: '/developers/suppressions/import',
    summary: 'Suppress the addresses in a CSV file; all rows or none',
    tag: TAG,
    operation: (operations) => operations.suppressions.importFile,
    takesCsv: true,
    body: z.object({
      csv: z
        .string()
        .describe(
          'The columns `channel`, `address`, `scope` and, if you like, `reason`, named by the first line. ' +
            `At most ${SUPPRESSION_FILE_MAX_ROWS} rows. As \`text/csv\`, the body is this text.`,
        ),
    }),
    response: z.object({
      rows: z.int(),
      changed: z.int().describe('Addresses that are suppressed now, or more widely than before.'),
      unchanged: z.int().describe('Addresses that were suppressed at least as widely before.'),
    }),
    examples: {
      file: {
        body: { csv: 'channel,address,scope,reason\nemail,ann@example.com,marketing,Asked on the phone\n' },
      },
    },
    async handle({ caller, operations, body }) {
      return { body: await operations.suppressions.importFile.run(caller, body) };
    },
  }),
  defineRoute({
    method: 'get',
    path: '/developers/suppressions/export',
    summary: 'All suppressed addresses as CSV, in parts, the newest first',
    tag: TAG,
    operation: (operations) => operations.suppressions.exportFile,
    query: z.object({
      after: z
        .string()
        .optional()
        .describe(
          'The `nextAfter` of the part before. The header `Link` has the whole path of the next part.',
        ),
      environment: environmentQuery,
    }),
    response: z.object({
      csv: z.string().describe('Only the first part has a line with the names of the columns.'),
      nextAfter: z.string().nullable().describe('Where the next part begins. Null in the last part.'),
    }),
    csvOf: ({ csv }) => csv,
    async handle({ caller, operations, query }) {
      const part = await operations.suppressions.exportFile.run(caller, query);
      const { csv, nextAfter } = part;
      if (nextAfter === null) return { body: { csv, nextAfter } };
      const { environment: of } = query;
      const next = new URLSearchParams({
        after: nextAfter,
        ...(of === undefined ? {} : { environment: of }),
      });
      const headers = { Link: `</api/v1/developers/suppressions/export?${next}>; rel="next"` };
      return { body: { csv, nextAfter }, headers };
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
