import { z } from 'zod';
import { DomainError, validationError } from '../../domain/errors.ts';
import type { Message } from '../../domain/messages/message.ts';
import { messageResource } from '../../domain/messages/message-resource.ts';
import type { MessageDetails } from '../../domain/messages/message-operations.ts';
import { fromMinor } from '../../domain/money/money.ts';
import { defineRoute, type Route } from '../define-route.ts';
import { envelope, idParams, isoTime, messageStatus, pageQuery, paginated } from '../schemas.ts';

const smsMessage = z.object({
  id: z.string(),
  sid: z.string().nullable(),
  channel: z.string(),
  to: z.array(z.string()),
  from: z.string(),
  content: z.string(),
  status: messageStatus,
  cost: z.number(),
  currency: z.string(),
  sandbox: z.boolean(),
  createdAt: isoTime,
  metadata: z.object({
    recipientsProcessed: z.int(),
    invalidNumbersSkipped: z.int(),
    duplicatesRemoved: z.int(),
    smsCount: z.int(),
    messageLength: z.int(),
    costPerSms: z.number(),
    encoding: z.string(),
    segments: z.int(),
  }),
  scheduledFor: isoTime.optional(),
  statusReason: z.string().optional(),
});

const messageDetails = smsMessage.extend({
  recipients: z.array(
    z.object({
      to: z.string(),
      status: messageStatus,
      sid: z.string().nullable(),
      cost: z.number(),
      error: z.object({ code: z.string(), message: z.string() }).nullable(),
    }),
  ),
  timeline: z.array(
    z.object({
      at: isoTime,
      status: z.string(),
      recipient: z.string().optional(),
      detail: z.string().optional(),
    }),
  ),
});

const historyEntry = z.object({
  id: z.string(),
  status: messageStatus,
  to: z.array(z.string()),
  content: z.string(),
  cost: z.number(),
  currency: z.string(),
  createdAt: isoTime,
});

const IDEMPOTENCY_KEY_MAX_LENGTH = 64;
const idempotencyKey = z.string().min(1).max(IDEMPOTENCY_KEY_MAX_LENGTH);

/** The one idempotency key of a request; the header and the body must not differ (decision 19). */
function oneKey(header: string | undefined, body: string | undefined): string | undefined {
  if (header !== undefined && body !== undefined && header !== body) {
    throw new DomainError(
      'idempotency_key_mismatch',
      'The Idempotency-Key header and idempotencyKey in the body differ. Send one of them, or the same in both.',
    );
  }
  if (header !== undefined && (header.length === 0 || header.length > IDEMPOTENCY_KEY_MAX_LENGTH)) {
    const message = `must have 1 to ${IDEMPOTENCY_KEY_MAX_LENGTH} characters`;
    throw validationError([{ path: 'Idempotency-Key', message }]);
  }
  return header ?? body;
}

function entryOf(message: Message) {
  return {
    id: message.id,
    status: message.status,
    to: [...message.to],
    content: message.content,
    cost: fromMinor(message.costMinor, message.currency),
    currency: message.currency,
    createdAt: message.createdAt.toISOString(),
  };
}

function detailsOf({ message, recipients, timeline }: MessageDetails) {
  return {
    ...messageResource(message),
    to: [...message.to],
    recipients: recipients.map((recipient) => ({
      to: recipient.address,
      status: recipient.status,
      sid: recipient.sid,
      cost: fromMinor(recipient.costMinor, message.currency),
      error: recipient.error,
    })),
    timeline: timeline.map((entry) => ({ ...entry, at: entry.at.toISOString() })),
  };
}

export const messageRoutes: readonly Route[] = [
  defineRoute({
    method: 'post',
    path: '/developers/sms',
    summary: 'Send an SMS',
    tag: 'SMS',
    operation: (operations) => operations.messages.sendSms,
    isIdempotent: true,
    body: z.object({
      to: z.string(),
      message: z.string(),
      from: z.string().optional(),
      scheduledFor: z.string().optional(),
      idempotencyKey: idempotencyKey.optional(),
    }),
    response: smsMessage,
    async handle({ caller, operations, body, idempotencyKey: header }) {
      const key = oneKey(header, body.idempotencyKey);
      const answer = await operations.messages.sendSms.run(caller, { ...body, idempotencyKey: key });
      return { json: answer.body, ...(answer.isReplay ? { headers: { 'Idempotency-Replayed': 'true' } } : {}) };
    },
  }),
  defineRoute({
    method: 'get',
    path: '/developers/sms/history',
    summary: 'SMS history, newest first',
    tag: 'SMS',
    operation: (operations) => operations.messages.history,
    query: pageQuery,
    response: envelope(historyEntry),
    async handle({ caller, operations, query }) {
      const page = await operations.messages.history.run(caller, { channel: 'sms', filter: {}, page: query });
      return { body: paginated(page, query, entryOf) };
    },
  }),
  defineRoute({
    method: 'get',
    path: '/developers/messages/:id',
    summary: 'One message of any channel, with its recipients and timeline',
    tag: 'Messages',
    operation: (operations) => operations.messages.get,
    params: idParams,
    response: messageDetails,
    async handle({ caller, operations, params }) {
      return { body: detailsOf(await operations.messages.get.run(caller, { id: params.id })) };
    },
  }),
  defineRoute({
    method: 'get',
    path: '/developers/sms/:id',
    summary: 'One SMS, with its recipients and timeline',
    tag: 'SMS',
    operation: (operations) => operations.messages.get,
    params: idParams,
    response: messageDetails,
    async handle({ caller, operations, params }) {
      const input = { id: params.id, channel: 'sms' as const };
      return { body: detailsOf(await operations.messages.get.run(caller, input)) };
    },
  }),
];
