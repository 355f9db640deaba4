import { z } from 'zod';
import { DomainError, validationError } from '../../domain/errors.ts';
import type { Message } from '../../domain/messages/message.ts';
import type { MessageDetails } from '../../domain/messages/message-operations.ts';
import { messageResource } from '../../domain/messages/message-resource.ts';
import { fromMinor } from '../../domain/money/money.ts';
import { defineRoute, type Route } from '../define-route.ts';
import { envelope, idParams, isoTime, messageStatus, pageQuery, paginated } from '../schemas.ts';

const smsFields = z.object({
  id: z.string(),
  sid: z.string().nullable().describe("The carrier's identifier; null until a carrier accepts the message."),
  channel: z.string(),
  to: z.array(z.string()).describe('Recipients in E.164, without those that are invalid or named twice.'),
  from: z.string().describe('The sender ID that recipients see.'),
  content: z.string(),
  status: messageStatus,
  cost: z.number().describe('The whole charge, in `currency`; 0 with a sandbox key.'),
  currency: z.string(),
  sandbox: z.boolean().describe('True when it was sent with a sandbox key.'),
  createdAt: isoTime,
  metadata: z.object({
    recipientsProcessed: z.int().describe('Recipients accepted.'),
    invalidNumbersSkipped: z.int().describe('Recipients left out as invalid.'),
    duplicatesRemoved: z.int().describe('Recipients left out because they were named before.'),
    smsCount: z.int().describe('Billing units of 160 characters.'),
    messageLength: z.int().describe('Length in UTF-16 code units.'),
    costPerSms: z.number().describe('Charge for one unit to one recipient.'),
    encoding: z.string().describe('`GSM-7` or `UCS-2`.'),
    segments: z
      .int()
      .describe('Parts that the carrier sends: 160 or 153 characters in GSM-7, 70 or 67 in UCS-2.'),
  }),
  scheduledFor: isoTime.optional().describe('When it is to be sent; absent for now.'),
  statusReason: z.string().optional().describe('`delivery_unconfirmed`: sent, but no delivery report came.'),
});
const smsMessage = smsFields.meta({ id: 'SmsMessage' });

const messageDetails = smsFields
  .extend({
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
  })
  .meta({ id: 'MessageDetails' });

const historyEntry = z
  .object({
    id: z.string(),
    status: messageStatus,
    to: z.array(z.string()),
    content: z.string(),
    cost: z.number(),
    currency: z.string(),
    createdAt: isoTime,
  })
  .meta({ id: 'HistoryEntry' });

const IDEMPOTENCY_KEY_MAX_LENGTH = 64;
const idempotencyKey = z.string().min(1).max(IDEMPOTENCY_KEY_MAX_LENGTH);

const smsToSend = z.object({
  to: z
    .string()
    .describe(
      'One recipient, or up to 1000 separated by commas: E.164, or a Ugandan number as `+256`, `256` or `0` and nine ' +
        'digits, or nine digits alone. Invalid numbers are skipped and counted.',
    ),
  message: z.string().describe('The text, 1 to 1000 UTF-16 code units.'),
  from: z
    .string()
    .optional()
    .describe('Sender ID: 1 to 11 letters A-Z or digits. Some countries replace it.'),
  scheduledFor: z
    .string()
    .optional()
    .describe('When to send: ISO 8601 with `Z` or an offset, at most 30 days ahead.'),
  idempotencyKey: idempotencyKey.optional().describe('Does what the `Idempotency-Key` header does.'),
});

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
    errors: [
      'invalid_phone_number',
      'invalid_sender_id',
      'message_too_long',
      'invalid_scheduled_time',
      'unpriced_destination',
      'insufficient_balance',
    ],
    body: smsToSend,
    examples: {
      one: { summary: 'To one number', body: { to: '+256700123456', message: 'Your code is 482913' } },
      several: {
        summary: 'To several numbers, under a sender ID, and not twice',
        body: {
          to: '0700123456, 256701234567, +447911123456',
          message: 'The office opens at 10 today.',
          from: 'ACME',
          idempotencyKey: 'opening-2026-11-21',
        },
      },
    },
    response: smsMessage,
    async handle({ caller, operations, body, idempotencyKey: header }) {
      const key = oneKey(header, body.idempotencyKey);
      const answer = await operations.messages.sendSms.run(caller, { ...body, idempotencyKey: key });
      return {
        json: answer.body,
        ...(answer.isReplay ? { headers: { 'Idempotency-Replayed': 'true' } } : {}),
      };
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
    examples: { sent: { params: { id: { route: 'POST /developers/sms', at: 'id' } } } },
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
    examples: { sent: { params: { id: { route: 'POST /developers/sms', at: 'id' } } } },
    response: messageDetails,
    async handle({ caller, operations, params }) {
      const input = { id: params.id, channel: 'sms' as const };
      return { body: detailsOf(await operations.messages.get.run(caller, input)) };
    },
  }),
];
