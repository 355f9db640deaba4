import { z } from 'zod';
import { MESSAGE_STATUSES } from '../domain/messages/message.ts';

/** A page number and size in a query string (contract, Limits; decision 6). */
const wholeNumber = (name: string, least: number, most: number) =>
  z
    .string({ error: `${name} must be given once` })
    .regex(/^[0-9]{1,15}$/, { error: `must be a whole number from ${least} to ${most}` })
    .transform(Number)
    .refine((value) => value >= least && value <= most, {
      error: `must be a whole number from ${least} to ${most}`,
    });

export const MAX_PAGE = 1_000_000_000;
export const pageQuery = z.object({
  page: wholeNumber('page', 1, MAX_PAGE).optional().default(1),
  limit: wholeNumber('limit', 1, 100).optional().default(20),
});

/** The list envelope of the contract, "Pagination envelope". */
export function envelope<Item extends z.ZodType>(item: Item) {
  return z.object({
    data: z.array(item),
    pagination: z.object({
      page: z.int(),
      limit: z.int(),
      total: z.int(),
      pages: z.int(),
    }),
  });
}

/** Puts a page into the envelope. */
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

export const isoTime = z.iso.datetime().describe('ISO 8601 time in UTC');
export const messageStatus = z.enum(MESSAGE_STATUSES);
/** An id in a path: anything that is no UUID names nothing, which is `not_found` and no fault of form. */
export const idParams = z.object({ id: z.string() });
