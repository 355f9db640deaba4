import { z } from 'zod';
import { ENVIRONMENTS } from '../domain/caller.ts';
import { CHANNELS, MESSAGE_STATUSES } from '../domain/messages/message.ts';
import { storable } from '../domain/text.ts';
import { EVENT_TYPES } from '../domain/webhooks/webhook.ts';

/** Text with commas, or an array of texts. */
export const textOrList = z.union([z.string(), z.array(z.string())], {
  error: 'must be text or a list of texts',
});

/** A whole number in a query string (R6, R188). */
const wholeNumber = (least: number, most: number) =>
  z
    .string({ error: 'must be given once' })
    .regex(/^[0-9]{1,15}$/, { error: `must be a whole number from ${least} to ${most}` })
    .transform(Number)
    .refine((value) => value >= least && value <= most, {
      error: `must be a whole number from ${least} to ${most}`,
    })
    // Document the parameter as a number. Its type is text only because every query parameter is text.
    .meta({
      override: ({ jsonSchema }: { jsonSchema: Record<string, unknown> }) => {
        delete jsonSchema.pattern;
        Object.assign(jsonSchema, { type: 'integer', minimum: least, maximum: most });
      },
    });

const MAX_PAGE = 1_000_000_000;
export const pageQuery = z.object({
  page: wholeNumber(1, MAX_PAGE).optional().default(1).describe('Which page, from 1.'),
  limit: wholeNumber(1, 100).optional().default(20).describe('Entries on a page.'),
});

const pagination = z
  .object({
    page: z.int(),
    limit: z.int(),
    total: z.int().describe('Entries on all pages together.'),
    pages: z.int(),
  })
  .meta({ id: 'Pagination' });

/** The envelope of every list (R85). */
export function envelope<Item extends z.ZodType>(item: Item) {
  return z.object({
    data: z.array(item),
    pagination,
  });
}

/** Converts a page of rows into the envelope of a list. */
export function paginated<Row, Item>(
  page: { rows: readonly Row[]; total: number },
  request: { page: number; limit: number },
  toItem: (row: Row) => Item,
) {
  return {
    data: page.rows.map(toItem),
    pagination: {
      page: request.page,
      limit: request.limit,
      total: page.total,
      pages: Math.ceil(page.total / request.limit),
    },
  };
}

export const environment = z.enum(ENVIRONMENTS).describe('Its environment: that of the key that created it.');
/** The query parameter that selects the environment of a list. */
export const environmentQuery = z
  .enum(ENVIRONMENTS)
  .optional()
  .describe("The environment to list. Default: the key's own. A sandbox key finds nothing in production.");

export const isoTime = z.iso.datetime().describe('ISO 8601 time in UTC.');
export const messageStatus = z.enum(MESSAGE_STATUSES).meta({
  id: 'MessageStatus',
  description:
    '`pending`: queued for delivery. `sent`: handed to the carrier. `delivered`: delivered. `failed`: not delivered.',
});
/** The id in a path. An id that is not a UUID causes `not_found`, not `validation_error`. */
export const idParams = z.object({
  id: z.string().meta({ description: 'The id, a UUID.', example: '019a8f6e-3a5c-7c1e-9d50-2f4b8a61c7d3' }),
});

/**
 * A list of phone numbers. Numbers are checked one by one, and only valid numbers are stored. A text that cannot be
 * stored counts as an invalid number (R170), and does not refuse the request.
 */
export const phoneNumbers = z.string().transform((text) => storable(text));

/** An event as webhooks and the feed send it (R146–R150). */
export const eventEnvelope = z
  .object({
    event: z.enum(EVENT_TYPES),
    channel: z.enum([...CHANNELS, 'system']),
    messageId: z
      .string()
      .optional()
      .describe('The message of the event; absent if the event is not about a message.'),
    timestamp: isoTime.describe('When the event was recorded.'),
    data: z.record(z.string(), z.unknown()).describe('Members depend on the event; more may be added.'),
  })
  .meta({
    id: 'Event',
    example: {
      event: 'sms.sent',
      channel: 'sms',
      messageId: '019a8f6e-3a5c-7c1e-9d50-2f4b8a61c7d3',
      timestamp: '2026-11-21T09:00:00.000Z',
      data: { to: '+256700123456', from: 'SERVICE', message: 'Your code is 482913', sid: '7f3a91' },
    },
  });
