import { z } from 'zod';
import { EVIDENCE_KINDS, MESSAGE_ACTIONS, MESSAGE_CAUSES } from '../../domain/messages/explain-message.ts';
import type { ExplainedMessage } from '../../domain/messages/explain-operations.ts';
import type { SmsQuote } from '../../domain/messages/sms-operations.ts';
import { fromMinor } from '../../domain/money/money.ts';
import { defineRoute, type Route } from '../define-route.ts';
import { idParams, isoTime, phoneNumbers } from '../schemas.ts';
import {
  detailMembers,
  detailsOf,
  heldUntil,
  historyRoute,
  idempotencyKey,
  messageDetails,
  messageMembers,
  purpose,
  sendRoute,
  suppressedSkipped,
} from './channel-routes.ts';

const smsMembers = {
  ...messageMembers,
  metadata: z.object({
    suppressedSkipped,
    heldUntil,
    recipientsProcessed: z.int().describe('Recipients accepted.'),
    invalidNumbersSkipped: z.int().describe('Recipients left out as invalid.'),
    duplicatesRemoved: z.int().describe('Recipients left out as duplicates.'),
    smsCount: z.int().describe('Billing units of 160 characters.'),
    messageLength: z.int().describe('Length in UTF-16 code units.'),
    costPerSms: z.number().describe('Charge for one unit to one recipient.'),
    encoding: z.string().describe('`GSM-7` or `UCS-2`.'),
    segments: z
      .int()
      .describe('Parts that the carrier sends: 160 or 153 characters in GSM-7, 70 or 67 in UCS-2.'),
  }),
};
const smsMessage = z.object(smsMembers).meta({ id: 'SmsMessage' });
// The same function builds the messages of all channels, so TypeScript knows only the general type of `metadata`. The
// cast gives the schema this general type.
const smsDetails = z
  .object({ ...smsMembers, ...detailMembers })
  .meta({ id: 'SmsDetails' }) as unknown as typeof messageDetails;

const smsToSend = z.object({
  to: phoneNumbers.describe(
    'One recipient, or up to 1000 separated by commas: E.164, or a Ugandan number as `+256`, `256` or `0` and nine ' +
      'digits, or nine digits alone. Invalid numbers are skipped and counted.',
  ),
  message: z
    .string()
    .describe(
      'The text, 1 to 1000 UTF-16 code units. In `marketing`, `{{optOut}}` is the link of each recipient; without it, the text gets a last line with the link.',
    ),
  from: z
    .string()
    .optional()
    .describe('Sender ID: 1 to 11 letters A-Z or digits. Some countries replace it.'),
  scheduledFor: z
    .string()
    .optional()
    .describe('When to send: ISO 8601 with `Z` or an offset, at most 30 days ahead.'),
  purpose,
  idempotencyKey,
});

const smsQuote = z
  .object({
    recipientsProcessed: z.int(),
    invalidNumbers: z.array(z.string()).describe('As given.'),
    duplicatesRemoved: z.int(),
    suppressedSkipped,
    heldUntil,
    encoding: z.enum(['GSM-7', 'UCS-2']),
    segments: z.int().describe('Parts that the carrier sends.'),
    smsCount: z.int().describe('Billing units of 160 characters.'),
    unicodeCharacters: z
      .array(z.object({ char: z.string(), index: z.int() }))
      .describe('The characters that keep the text out of GSM-7, with their places in UTF-16 code units.'),
    cost: z.number().describe('What the send would be charged; 0 with a sandbox key.'),
    currency: z.string(),
    balance: z.number(),
    sufficientBalance: z.boolean(),
    sandbox: z.boolean(),
  })
  .meta({ id: 'SmsQuote' });

function quoteResource({
  recipientsProcessed,
  invalidNumbers,
  duplicatesRemoved,
  suppressedSkipped: skipped,
  heldUntil: held,
  text,
  unicodeCharacters,
  costMinor,
  currency,
  balanceMinor,
  environment,
}: SmsQuote) {
  return {
    recipientsProcessed,
    invalidNumbers: [...invalidNumbers],
    duplicatesRemoved,
    ...(skipped > 0 ? { suppressedSkipped: skipped } : {}),
    ...(held ? { heldUntil: held.toISOString() } : {}),
    encoding: text.encoding,
    segments: text.segments,
    smsCount: text.billingUnits,
    unicodeCharacters: [...unicodeCharacters],
    cost: fromMinor(costMinor, currency),
    currency,
    balance: fromMinor(balanceMinor, currency),
    sufficientBalance: balanceMinor >= costMinor,
    sandbox: environment === 'sandbox',
  };
}

const explainQuery = z.object({
  explain: z
    .enum(['true', 'false'])
    .optional()
    .describe('`true` adds `explanation`: why the message is as it is, and what can be done.'),
});

const messageExplanation = z
  .object({
    cause: z.enum(MESSAGE_CAUSES),
    summary: z.string().describe('The causes of all recipients in words.'),
    causes: z.array(z.object({ cause: z.enum(MESSAGE_CAUSES), text: z.string(), recipients: z.int() })),
    evidence: z
      .array(
        z.object({
          at: isoTime,
          kind: z.enum(EVIDENCE_KINDS),
          recipient: z.string().nullable(),
          text: z.string(),
        }),
      )
      .describe('What shows it, the newest 50.'),
    actions: z
      .array(z.object({ action: z.enum(MESSAGE_ACTIONS), text: z.string() }))
      .describe('What can be done, the best first.'),
    retryCost: z
      .number()
      .nullable()
      .describe(
        'What sending it again to the recipients that may not have it would cost now, in `currency`.',
      ),
    currency: z.string(),
  })
  .meta({ id: 'MessageExplanation' });

const explainedDetails = messageDetails
  .extend({ explanation: messageExplanation.optional().describe('Present with `explain=true`.') })
  .meta({ id: 'ExplainableMessage' });

function explanationResource({ message: { currency }, explanation }: ExplainedMessage) {
  const { retryCostMinor, cause, summary, causes, evidence, actions } = explanation;
  return {
    cause,
    summary,
    causes: [...causes],
    evidence: evidence.map((one) => ({ ...one, at: one.at.toISOString() })),
    actions: [...actions],
    retryCost: retryCostMinor === null ? null : fromMinor(retryCostMinor, currency),
    currency,
  };
}

/** Errors with which an SMS is refused before it is charged. */
const SMS_REFUSALS = [
  'invalid_phone_number',
  'invalid_sender_id',
  'message_too_long',
  'invalid_scheduled_time',
  'unpriced_destination',
  'destination_not_allowed',
  'sender_not_approved',
  'all_recipients_suppressed',
] as const;

export const messageRoutes: readonly Route[] = [
  sendRoute({
    channel: 'sms',
    path: '/developers/sms',
    summary: 'Send an SMS',
    tag: 'SMS',
    operation: (operations) => operations.messages.sendSms,
    errors: [...SMS_REFUSALS, 'insufficient_balance', 'spend_limit_reached'],
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
  }),
  defineRoute({
    method: 'post',
    path: '/developers/sms/quote',
    summary: 'What an SMS would cost, without sending it',
    tag: 'SMS',
    operation: (operations) => operations.messages.quoteSms,
    errors: SMS_REFUSALS,
    body: smsToSend,
    examples: { one: { body: { to: '0700123456, 12', message: 'Naïve café at 10 ☕' } } },
    response: smsQuote,
    async handle({ caller, operations, body }) {
      return { body: quoteResource(await operations.messages.quoteSms.run(caller, body)) };
    },
  }),
  historyRoute('sms', 'SMS', 'SMS'),
  defineRoute({
    method: 'get',
    path: '/developers/messages/:id',
    summary: 'One message of any channel, with its recipients and timeline',
    tag: 'Messages',
    operation: (operations) => operations.messages.get,
    params: idParams,
    query: explainQuery,
    examples: { sent: { params: { id: { route: 'POST /developers/sms', at: 'id' } } } },
    response: explainedDetails,
    async handle({ caller, operations, params, query }) {
      const input = { id: params.id };
      if (query.explain !== 'true')
        return { body: detailsOf(await operations.messages.get.run(caller, input)) };
      const explained = await operations.messages.explain.run(caller, input);
      return { body: { ...detailsOf(explained), explanation: explanationResource(explained) } };
    },
  }),
  defineRoute({
    method: 'delete',
    path: '/developers/messages/:id',
    summary: 'Cancel a message that has not left yet, and refund it',
    tag: 'Messages',
    operation: (operations) => operations.messages.cancel,
    params: idParams,
    errors: ['message_not_cancelable'],
    examples: {
      scheduled: {
        params: {
          id: {
            route: 'POST /developers/sms',
            at: 'id',
            body: () => ({
              to: '+256700123456',
              message: 'The office opens at 10 tomorrow.',
              scheduledFor: new Date(Date.now() + 86_400_000).toISOString(),
            }),
          },
        },
      },
    },
    response: messageDetails,
    async handle({ caller, operations, params }) {
      return { body: detailsOf(await operations.messages.cancel.run(caller, { id: params.id })) };
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
    response: smsDetails,
    async handle({ caller, operations, params }) {
      const input = { id: params.id, channel: 'sms' as const };
      return { body: detailsOf(await operations.messages.get.run(caller, input)) };
    },
  }),
];
