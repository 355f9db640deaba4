import { z } from 'zod';
import { ERASED_PLACES, ERASURE_REASON_MAX_LENGTH, type Erasure } from '../../domain/recipients/erasure.ts';
import { ADDRESS_KINDS } from '../../domain/recipients/personal-address.ts';
import { defineRoute, type Route } from '../define-route.ts';
import { envelope, environment, idParams, isoTime, pageQuery, paginated } from '../schemas.ts';

const TAG = 'Recipients';
const PLACES: Readonly<Record<(typeof ERASED_PLACES)[number], string>> = {
  messages: 'Messages that had the person among their recipients or copies.',
  texts: 'Messages that lost their text, because nobody else got them.',
  recipients: 'Addresses of recipients.',
  events: 'Events, with what the endpoints answered to them.',
  reports: 'Delivery reports that matched no message yet.',
  answers: 'Stored answers of idempotency keys.',
  inboundMessages: 'Messages from the person.',
  contacts: 'Contacts that were deleted, or lost an email address that they shared.',
  importFaults: 'Cells of imported files.',
  devices: 'Devices.',
  suppressions: 'Suppressions, which stay as a hash.',
  numberCounts: 'Counts of messages to a number.',
  requestBodies: 'Whole bodies of logged requests, of everybody.',
};
const erasure = z
  .object({
    id: z.string(),
    environment: environment.nullable().describe('Null: both.'),
    kind: z.enum(ADDRESS_KINDS),
    addressHash: z.string().describe('A keyed hash of the address. An address has one hash in an account.'),
    reason: z.string(),
    requestedBy: z.string().describe('The key or person, as in the audit log.'),
    at: isoTime,
    doneAt: isoTime.nullable().describe('Null while it is under way.'),
    erased: z
      .object(
        Object.fromEntries(ERASED_PLACES.map((place) => [place, z.int().describe(PLACES[place])])) as Record<
          (typeof ERASED_PLACES)[number],
          z.ZodInt
        >,
      )
      .describe('Numbers of erased items so far.'),
    auditSequence: z.int().describe('Number of the audit entry of the request in the chain.'),
    doneAuditSequence: z.int().nullable().describe('Number of the audit entry of its end.'),
  })
  .meta({ id: 'Erasure' });

const resource = ({ accountId: _, createdAt, doneAt, ...shown }: Erasure) => ({
  ...shown,
  at: createdAt.toISOString(),
  doneAt: doneAt?.toISOString() ?? null,
});

const addressParams = z.object({
  address: z.string().describe('A phone number, an email address, or with `kind=user` the id of a user.'),
});
const kind = z
  .enum(ADDRESS_KINDS)
  .optional()
  .describe('What the address is. Default: `email` for a text with an @, otherwise `phone`.');
/** Each example has a contact of its own: the other requests of the examples write to other numbers. */
const contactWith = (phone: string) => ({
  address: { route: 'POST /developers/contacts', at: 'phone', body: () => ({ phone, name: 'Ann' }) },
});

export const recipientRoutes: readonly Route[] = [
  defineRoute({
    method: 'get',
    path: '/developers/recipients/:address',
    summary: 'Everything that is stored of one person as JSON, in parts',
    tag: TAG,
    operation: (operations) => operations.recipients.export,
    params: addressParams,
    query: z.object({
      kind,
      after: z.string().optional().describe('The `nextAfter` of the part before.'),
    }),
    response: z.object({
      recipient: z
        .record(z.string(), z.unknown())
        .describe(
          'Messages in every part, with their events, webhook deliveries, reports and request. In the first also contacts, devices, suppressions, inbound messages, numbers, cells of imports and earlier erasures.',
        ),
      nextAfter: z.string().nullable().describe('Where the next part begins. Null in the last part.'),
    }),
    examples: { person: { params: contactWith('+256700123471') } },
    async handle({ caller, operations, params, query }) {
      const part = await operations.recipients.export.run(caller, { ...params, ...query });
      return { body: { recipient: { ...part.recipient }, nextAfter: part.nextAfter } };
    },
  }),
  defineRoute({
    method: 'delete',
    path: '/developers/recipients/:address',
    summary: 'Erase what is stored of one person; a worker does it, and the erasure becomes a receipt',
    tag: TAG,
    operation: (operations) => operations.recipients.erase,
    successStatus: 202,
    params: addressParams,
    query: z.object({
      kind,
      reason: z.string().meta({
        description: `Why, at most ${ERASURE_REASON_MAX_LENGTH} characters. It stays, so do not name the person.`,
        examples: ['Asked by letter'],
      }),
    }),
    response: z.object({ erasure }),
    errors: ['recipient_has_pending_messages'],
    examples: { asked: { params: contactWith('+256700123472'), query: { reason: 'Asked by email' } } },
    async handle({ caller, operations, params, query }) {
      const begun = await operations.recipients.erase.run(caller, { ...params, ...query });
      return { body: { erasure: resource(begun) } };
    },
  }),
  defineRoute({
    method: 'get',
    path: '/developers/erasures',
    summary: 'Erasures, the newest first',
    tag: TAG,
    operation: (operations) => operations.recipients.list,
    query: pageQuery,
    response: envelope(erasure),
    async handle({ caller, operations, query }) {
      return {
        body: paginated(await operations.recipients.list.run(caller, { page: query }), query, resource),
      };
    },
  }),
  defineRoute({
    method: 'get',
    path: '/developers/erasures/:id',
    summary: 'An erasure: how far it is, and once it is done the receipt',
    tag: TAG,
    operation: (operations) => operations.recipients.get,
    params: idParams,
    response: z.object({ erasure }),
    examples: {
      begun: { params: { id: { route: 'DELETE /developers/recipients/:address', at: 'erasure.id' } } },
    },
    async handle({ caller, operations, params }) {
      return { body: { erasure: resource(await operations.recipients.get.run(caller, params)) } };
    },
  }),
];
