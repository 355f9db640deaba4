import { z } from 'zod';
import {
  MEDIA_KINDS,
  WHATSAPP_CAPTION_MAX_LENGTH,
  WHATSAPP_TEXT_MAX_LENGTH,
  WHATSAPP_TYPES,
} from '../../domain/messages/whatsapp-content.ts';
import { defineRoute, type Route } from '../define-route.ts';
import { isoTime, phoneNumbers } from '../schemas.ts';
import {
  heldUntil,
  historyRoute,
  idempotencyKey,
  messageMembers,
  purpose,
  sendRoute,
  suppressedSkipped,
} from './channel-routes.ts';

const TAG = 'WhatsApp';

const whatsAppMessage = z
  .object({
    ...messageMembers,
    type: z.enum(WHATSAPP_TYPES),
    readAt: isoTime.nullable().describe('When WhatsApp reported that the recipient read it.'),
    metadata: z.object({
      suppressedSkipped,
      heldUntil,
      recipientsProcessed: z.int(),
      costPerMessage: z.number(),
    }),
  })
  .meta({ id: 'WhatsAppMessage' });

const whatsAppToSend = z.object({
  to: phoneNumbers.describe('One number, in any form that an SMS accepts.'),
  type: z
    .enum(WHATSAPP_TYPES)
    .describe(
      "`text` and `media` only within 24 hours of the recipient's last message to this account, `template` always.",
    ),
  text: z
    .object({
      body: z.string().describe(`1 to ${WHATSAPP_TEXT_MAX_LENGTH} UTF-16 code units.`),
      previewUrl: z.boolean().optional().describe('Shows a preview of the first address in the text.'),
    })
    .optional(),
  template: z
    .object({
      name: z.string().describe('Its name in the WhatsApp Manager.'),
      language: z.string().describe('Such as `en` or `en_US`.'),
      components: z
        .array(z.record(z.string(), z.unknown()))
        .optional()
        .describe("What the template's places hold, as the Cloud API takes it."),
    })
    .optional(),
  media: z
    .object({
      url: z.string().describe('A public address that WhatsApp fetches the file from.'),
      caption: z
        .string()
        .optional()
        .describe(`At most ${WHATSAPP_CAPTION_MAX_LENGTH} UTF-16 code units; not with audio.`),
      kind: z.enum(MEDIA_KINDS).optional().describe("By the address's ending when it is missing."),
    })
    .optional(),
  scheduledFor: z
    .string()
    .optional()
    .describe('When to send: ISO 8601 with `Z` or an offset, at most 30 days ahead.'),
  purpose,
  idempotencyKey,
});

const window = z
  .object({
    to: z.string().describe('In E.164.'),
    open: z.boolean().describe('Whether text and media can be sent now.'),
    lastInboundAt: isoTime
      .nullable()
      .describe(
        "The recipient's last message to this account. It counts for the account that wrote to the recipient last.",
      ),
    closesAt: isoTime.nullable().describe('When the window closes, or closed.'),
  })
  .meta({ id: 'WhatsAppWindow' });

export const whatsAppRoutes: readonly Route[] = [
  sendRoute({
    channel: 'whatsapp',
    path: '/developers/whatsapp',
    summary: 'Send a WhatsApp message',
    tag: TAG,
    operation: (operations) => operations.messages.sendWhatsApp,
    errors: [
      'invalid_phone_number',
      'session_window_closed',
      'invalid_scheduled_time',
      'unpriced_destination',
      'destination_not_allowed',
      'all_recipients_suppressed',
      'insufficient_balance',
      'spend_limit_reached',
    ],
    body: whatsAppToSend,
    examples: {
      template: {
        summary: 'A template with a value',
        body: {
          to: '+256700123456',
          type: 'template',
          template: {
            name: 'order_shipped',
            language: 'en_US',
            components: [{ type: 'body', parameters: [{ type: 'text', text: '4711-3' }] }],
          },
        },
      },
    },
    response: whatsAppMessage,
  }),
  historyRoute('whatsapp', 'WhatsApp', TAG),
  defineRoute({
    method: 'get',
    path: '/developers/whatsapp/window',
    summary:
      'Whether free text can be sent to a number now; never in the sandbox, which receives no messages',
    tag: TAG,
    operation: (operations) => operations.messages.whatsAppWindow,
    errors: ['invalid_phone_number'],
    query: z.object({
      // A client may send a plus sign without escaping it. It then arrives as a space.
      to: phoneNumbers.transform((text) => text.replace(/^ /, '+')).describe('One number.'),
    }),
    examples: { one: { query: { to: '+256700123456' } } },
    response: window,
    async handle({ caller, operations, query }) {
      const found = await operations.messages.whatsAppWindow.run(caller, query);
      return {
        body: {
          to: found.to,
          open: found.isOpen,
          lastInboundAt: found.lastInboundAt?.toISOString() ?? null,
          closesAt: found.closesAt?.toISOString() ?? null,
        },
      };
    },
  }),
];
