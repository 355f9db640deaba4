import { z } from 'zod';
import { PURPOSES } from '../../domain/messages/message.ts';
import {
  REQUESTED_CHANNELS,
  SENDER_CHANNELS,
  SENDER_RECORD_KINDS,
  SENDER_STATUSES,
} from '../../domain/senders/sender.ts';
import type { ShownSender } from '../../domain/senders/sender-operations.ts';
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

const TAG = 'Senders';
const status = z
  .enum(SENDER_STATUSES)
  .describe('`pending`: waits for the operator, or for the DNS record of the domain.');
const sender = z
  .object({
    id: z.string(),
    environment,
    channel: z.enum(SENDER_CHANNELS),
    senderId: z.string().nullable().describe('The sender ID of SMS.'),
    domain: z.string().nullable().describe('The domain of email.'),
    number: z.string().nullable().describe('The WhatsApp number, which the operator assigned.'),
    phoneNumberId: z.string().nullable().describe("WhatsApp's id of the number."),
    status,
    purposes: z.array(z.enum(PURPOSES)),
    useCase: z.string().nullable(),
    company: z.string().nullable(),
    note: z.string().nullable().describe("The operator's answer in words."),
    registrations: z
      .array(
        z.object({ network: z.string(), status: z.enum(SENDER_STATUSES), reference: z.string().nullable() }),
      )
      .describe('States at networks that register sender IDs themselves.'),
    records: z
      .array(
        z.object({
          kind: z.enum(SENDER_RECORD_KINDS),
          name: z.string().describe('Name of the TXT record.'),
          expected: z.string(),
          found: z.array(z.string()).describe('What the last check found.'),
          isRight: z.boolean(),
        }),
      )
      .describe('DNS records of a domain: as they should be, and as they are.'),
    createdAt: isoTime,
    reviewedAt: isoTime.nullable(),
    verifiedAt: isoTime
      .nullable()
      .describe('When the DNS record proved the domain, or WhatsApp confirmed the number.'),
    checkedAt: isoTime.nullable().describe('When the DNS was asked last.'),
  })
  .meta({ id: 'Sender' });

function resource(shown: ShownSender) {
  const time = (at: Date | null) => at?.toISOString() ?? null;
  return {
    id: shown.id,
    environment: shown.environment,
    channel: shown.channel,
    senderId: shown.senderId,
    domain: shown.domain,
    number: shown.number,
    phoneNumberId: shown.phoneNumberId,
    status: shown.status,
    purposes: [...shown.purposes],
    useCase: shown.useCase,
    company: shown.company,
    note: shown.note,
    registrations: [...shown.registrations],
    records: shown.records.map((record) => ({ ...record, found: [...record.found] })),
    createdAt: shown.createdAt.toISOString(),
    reviewedAt: time(shown.reviewedAt),
    verifiedAt: time(shown.verifiedAt),
    checkedAt: time(shown.checkedAt),
  };
}

const made = (body: object) => ({
  id: { route: 'POST /developers/senders', at: 'sender.id', body: () => body },
});

export const senderRoutes: readonly Route[] = [
  defineRoute({
    method: 'get',
    path: '/developers/senders',
    summary: 'Names under which the account sends, the newest first',
    tag: TAG,
    operation: (operations) => operations.senders.list,
    query: pageQuery.extend({
      channel: z.enum(SENDER_CHANNELS).optional(),
      environment: environmentQuery,
    }),
    response: envelope(sender),
    async handle({ caller, operations, query: { page, limit, ...filter } }) {
      const request = { page, limit };
      const found = await operations.senders.list.run(caller, { ...filter, page: request });
      return { body: paginated(found, request, resource) };
    },
  }),
  defineRoute({
    method: 'post',
    path: '/developers/senders',
    summary: 'Ask for a sender ID of SMS, or for a domain of email',
    tag: TAG,
    operation: (operations) => operations.senders.request,
    successStatus: 201,
    body: z.object({
      channel: z.enum(REQUESTED_CHANNELS),
      senderId: z.string().optional().describe('For SMS: 1 to 11 letters A-Z or digits.'),
      domain: z.string().optional().describe('For email: a domain such as `example.com`.'),
      purposes: z.array(z.enum(PURPOSES)).optional().describe('What it is for. Required for SMS.'),
      useCase: z.string().optional().describe('What you send, 1 to 500 characters. Required for SMS.'),
      company: z.string().optional().describe('Who sends, 1 to 200 characters. Required for SMS.'),
    }),
    response: z.object({ sender }),
    examples: {
      sms: {
        summary: 'A sender ID',
        body: {
          channel: 'sms',
          senderId: 'MANGOES',
          purposes: ['transactional', 'marketing'],
          useCase: 'Receipts, and offers to customers who asked for them',
          company: 'Mangoes Ltd',
        },
      },
      email: { summary: 'A domain', body: { channel: 'email', domain: 'mail.mangoes.example' } },
    },
    async handle({ caller, operations, body }) {
      return { body: { sender: resource(await operations.senders.request.run(caller, body)) } };
    },
  }),
  defineRoute({
    method: 'get',
    path: '/developers/senders/:id',
    summary: 'One sender',
    tag: TAG,
    operation: (operations) => operations.senders.get,
    params: idParams,
    examples: { asked: { params: made({ channel: 'email', domain: 'news.mangoes.example' }) } },
    response: z.object({ sender }),
    async handle({ caller, operations, params }) {
      return { body: { sender: resource(await operations.senders.get.run(caller, params)) } };
    },
  }),
  defineRoute({
    method: 'delete',
    path: '/developers/senders/:id',
    summary: 'Give a sender up',
    tag: TAG,
    operation: (operations) => operations.senders.remove,
    params: idParams,
    errors: ['validation_error'],
    examples: { asked: { params: made({ channel: 'email', domain: 'old.mangoes.example' }) } },
    response: z.object({ id: z.string(), deleted: z.literal(true) }),
    async handle({ caller, operations, params }) {
      await operations.senders.remove.run(caller, params);
      return { body: { id: params.id, deleted: true as const } };
    },
  }),
  defineRoute({
    method: 'post',
    path: '/developers/senders/:id/verify',
    summary: 'Look for the DNS records of a domain now',
    tag: TAG,
    operation: (operations) => operations.senders.verify,
    params: idParams,
    errors: ['validation_error', 'provider_error'],
    examples: { asked: { params: made({ channel: 'email', domain: 'verify.mangoes.example' }) } },
    response: z.object({ sender }),
    async handle({ caller, operations, params }) {
      return { body: { sender: resource(await operations.senders.verify.run(caller, params)) } };
    },
  }),
];
