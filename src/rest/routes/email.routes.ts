import { z } from 'zod';
import type { Route } from '../define-route.ts';
import { textOrList } from '../schemas.ts';
import {
  historyRoute,
  idempotencyKey,
  messageMembers,
  purpose,
  sendRoute,
  suppressedSkipped,
} from './channel-routes.ts';

const MAX_BODY_BYTES = 10 * 1024 * 1024;

const emailMessage = z
  .object({
    ...messageMembers,
    content: z
      .string()
      .describe('The text, or the HTML when there is no text: its first 10,000 UTF-16 code units.'),
    subject: z.string(),
    metadata: z.object({
      suppressedSkipped,
      recipientsProcessed: z.int().describe('Recipients accepted.'),
      invalidAddressesSkipped: z.int().describe('Recipients left out as invalid.'),
      duplicatesRemoved: z.int().describe('Recipients left out as duplicates.'),
    }),
  })
  .meta({ id: 'EmailMessage' });

const emailToSend = z.object({
  to: textOrList.describe(
    'Up to 50 addresses, separated by commas or in a list. Each gets a mail of its own. Invalid ones are skipped ' +
      'and counted.',
  ),
  subject: z.string().describe('One line of 1 to 998 characters.'),
  text: z.string().optional().describe('The text; it or `html` is needed.'),
  html: z.string().optional(),
  from: z.string().optional().describe('One address, optionally with a name. Default: the gateway’s own.'),
  replyTo: z.string().optional().describe('One address, optionally with a name.'),
  cc: textOrList.optional().describe('Up to 50 addresses; they get a copy of the first mail.'),
  bcc: textOrList.optional().describe('As `cc`, unseen by the others.'),
  headers: z
    .record(z.string(), z.string())
    .optional()
    .describe(
      '`X-…`, `List-Unsubscribe` and similar, `In-Reply-To`, `References`, `Auto-Submitted`, `Precedence`.',
    ),
  attachments: z
    .array(
      z.object({
        filename: z.string(),
        content: z.string().describe('Base64.'),
        contentType: z.string().optional().describe('`application/octet-stream` by default.'),
      }),
    )
    .optional()
    .describe('Up to 50 files, 7 MiB together.'),
  scheduledFor: z
    .string()
    .optional()
    .describe('When to send: ISO 8601 with `Z` or an offset, at most 30 days ahead.'),
  purpose,
  idempotencyKey,
});

export const emailRoutes: readonly Route[] = [
  sendRoute({
    channel: 'email',
    path: '/developers/email',
    summary: 'Send an email',
    tag: 'Email',
    operation: (operations) => operations.messages.sendEmail,
    errors: [
      'invalid_scheduled_time',
      'unpriced_destination',
      'sender_not_approved',
      'all_recipients_suppressed',
      'insufficient_balance',
      'spend_limit_reached',
    ],
    body: emailToSend,
    maxBodyBytes: MAX_BODY_BYTES,
    examples: {
      text: {
        summary: 'A text to one address',
        body: { to: 'ann@example.com', subject: 'Your receipt', text: 'Thank you for your order.' },
      },
      rich: {
        summary: 'HTML to several addresses, with a file',
        body: {
          to: ['ann@example.com', 'ben@example.org'],
          cc: 'sales@example.com',
          from: '"ACME Shop" <shop@example.com>',
          replyTo: 'help@example.com',
          subject: 'Your order has left',
          html: '<p>It is on its way.</p>',
          text: 'It is on its way.',
          headers: { 'List-Unsubscribe': '<https://acme.example/unsubscribe/1>' },
          attachments: [{ filename: 'invoice.txt', content: 'SW52b2ljZSAxCg==', contentType: 'text/plain' }],
        },
      },
    },
    response: emailMessage,
  }),
  historyRoute('email', 'Email', 'Email'),
];
