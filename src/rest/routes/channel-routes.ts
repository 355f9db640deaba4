/** The common parts of the routes of all channels: schemas, sends, histories and lookups. */
import { z } from 'zod';
import { ENVIRONMENTS } from '../../domain/caller.ts';
import { DomainError, validationError } from '../../domain/errors.ts';
import { parseIsoTime } from '../../domain/iso-time.ts';
import { type Channel, type Message, PURPOSES, refundedMinor } from '../../domain/messages/message.ts';
import type { MessageDetails } from '../../domain/messages/message-operations.ts';
import { messageResource, shownTo } from '../../domain/messages/message-resource.ts';
import { fromMinor } from '../../domain/money/money.ts';
import type { Operation } from '../../domain/operation.ts';
import type { Operations } from '../../domain/operations.ts';
import type { SendAnswer } from '../../domain/ports/intake.ts';
import { defineRoute, type Route, type RouteAnswer, type RouteDefinition } from '../define-route.ts';
import { envelope, isoTime, messageStatus, pageQuery, paginated } from '../schemas.ts';

/** Fields that the messages of all channels have. Each channel adds its own, such as `metadata`. */
export const messageMembers = {
  id: z.string(),
  sid: z.string().nullable().describe("The carrier's identifier; null until a carrier accepts the message."),
  channel: z.string(),
  to: z.array(z.string()).describe('Recipients, without invalid ones and duplicates.'),
  from: z.string().describe('The sender that recipients see.'),
  content: z.string(),
  status: messageStatus,
  cost: z.number().describe('The whole charge, in `currency`; 0 with a sandbox key.'),
  currency: z.string(),
  sandbox: z.boolean().describe('True for a message of a sandbox key.'),
  createdAt: isoTime,
  purpose: z.enum(PURPOSES).optional().describe('What it is for; absent for `transactional`.'),
  scheduledFor: isoTime.optional().describe('When it will be sent; absent when it was sent at once.'),
  statusReason: z
    .string()
    .optional()
    .describe(
      '`delivery_unconfirmed`: sent, but no delivery report came. `refund_pending`: a recipient failed, but an earlier attempt may have reached it; it is refunded when no delivery report can arrive any more. `held_for_review`: it looks like SMS pumping; it is not charged, and leaves when a person releases it.',
    ),
};

/** Fields that only the lookup of a message by id adds (R20). */
export const detailMembers = {
  recipients: z.array(
    z.object({
      to: z.string(),
      status: messageStatus,
      sid: z.string().nullable(),
      cost: z.number(),
      refunded: z
        .number()
        .describe('The refunded part of `cost`: all of it when no carrier accepted the message.'),
      refundDueAt: isoTime
        .optional()
        .describe('When it is refunded. It failed, but an earlier attempt may have reached the recipient.'),
      heldUntil: isoTime
        .optional()
        .describe('Until when quiet hours hold the recipient; absent if they do not.'),
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
};

/** A message of any channel, with its recipients and timeline. */
export const messageDetails = z
  .looseObject({
    ...messageMembers,
    metadata: z.record(z.string(), z.union([z.number(), z.string()])),
    ...detailMembers,
  })
  .meta({ id: 'MessageDetails' });

/** Converts a message with its recipients and timeline into the answer of its lookup. */
export function detailsOf({ message, recipients, timeline }: MessageDetails) {
  return {
    ...messageResource(message),
    to: [...shownTo(message)],
    recipients: recipients.map((recipient) => ({
      to: recipient.address,
      status: recipient.status,
      sid: recipient.sid,
      cost: fromMinor(recipient.costMinor, message.currency),
      refunded: fromMinor(refundedMinor(recipient), message.currency),
      ...(recipient.refundDueAt ? { refundDueAt: recipient.refundDueAt.toISOString() } : {}),
      ...(recipient.heldUntil ? { heldUntil: recipient.heldUntil.toISOString() } : {}),
      error: recipient.error,
    })),
    timeline: timeline.map((entry) => ({ ...entry, at: entry.at.toISOString() })),
  };
}

const BODY_KEY_MAX_LENGTH = 64;
const HEADER_KEY_MAX_LENGTH = 255;
/** The `purpose` in the body of every send (R376). */
export const purpose = z
  .enum(PURPOSES)
  .optional()
  .describe(
    'What the message is for. `marketing` skips people who opted out, and waits in quiet hours. Default: `transactional`.',
  );
/** The member of `metadata` that counts suppressed recipients (R378). */
export const suppressedSkipped = z
  .int()
  .optional()
  .describe('Recipients left out because they are suppressed; absent for none.');

/** The member of `metadata` that says until when quiet hours hold marketing (R385). */
export const heldUntil = isoTime
  .optional()
  .describe(
    'When the last recipient that quiet hours hold may leave; absent if they hold none. Only marketing is held.',
  );

/** The `idempotencyKey` in the body of every send (R186). */
export const idempotencyKey = z
  .string()
  .min(1)
  .max(BODY_KEY_MAX_LENGTH)
  .optional()
  .describe('Does what the `Idempotency-Key` header does.');

/**
 * Returns the idempotency key of a request. Throws `idempotency_key_mismatch` if header and body name different keys
 * (R19).
 */
function oneKey(header: string | undefined, body: string | undefined): string | undefined {
  if (header !== undefined && body !== undefined && header !== body) {
    throw new DomainError(
      'idempotency_key_mismatch',
      'The Idempotency-Key header and idempotencyKey in the body differ. Send one of them, or the same in both.',
    );
  }
  if (header !== undefined && (header.length === 0 || header.length > HEADER_KEY_MAX_LENGTH)) {
    const message = `must have 1 to ${HEADER_KEY_MAX_LENGTH} characters`;
    throw validationError([{ path: 'Idempotency-Key', message }]);
  }
  return header ?? body;
}

type SendDefinition<Body extends z.ZodType, Response extends z.ZodType> = Pick<
  RouteDefinition<z.ZodType, z.ZodType, Body, Response>,
  'path' | 'summary' | 'tag' | 'errors' | 'examples' | 'maxBodyBytes'
> & {
  readonly channel: Channel;
  readonly body: Body;
  readonly response: Response;
  readonly operation: (
    operations: Operations,
  ) => Operation<z.output<Body> & { idempotencyKey: string | undefined }, SendAnswer>;
};

/**
 * Defines the send route of a channel. It accepts an idempotency key and answers a repeated request with the first
 * answer (R19).
 */
export function sendRoute<
  Body extends z.ZodType<{ idempotencyKey?: string | undefined }>,
  Response extends z.ZodType,
>({ channel, operation, ...definition }: SendDefinition<Body, Response>): Route {
  return defineRoute({
    ...definition,
    method: 'post',
    operation,
    isIdempotent: true,
    async handle({ caller, operations, body, idempotencyKey: header }) {
      const key = oneKey(header, body.idempotencyKey);
      return answerOf(await operation(operations).run(caller, { ...body, idempotencyKey: key }));
    },
    async replay({ caller, operations, idempotencyKey: key }) {
      const answer = await operations.messages.replay.run(caller, { channel, idempotencyKey: key });
      return answer && answerOf(answer);
    },
  });
}

function answerOf(answer: SendAnswer): RouteAnswer<never> {
  const headers = answer.isReplay ? { headers: { 'Idempotency-Replayed': 'true' } } : {};
  return { json: answer.body, ...headers };
}

const historyEntry = z
  .object({
    id: z.string(),
    status: messageStatus,
    to: z.array(z.string()),
    content: z.string(),
    cost: z.number(),
    currency: z.string(),
    createdAt: isoTime,
    environment: z
      .enum(ENVIRONMENTS)
      .describe('Environment in which the message was sent. A production key sees both.'),
  })
  .meta({ id: 'HistoryEntry' });

function entryOf(message: Message) {
  return {
    id: message.id,
    status: message.status,
    to: [...shownTo(message)],
    content: message.content,
    cost: fromMinor(message.costMinor, message.currency),
    currency: message.currency,
    createdAt: message.createdAt.toISOString(),
    environment: message.environment,
  };
}

const timeFilter = z
  .string()
  .transform((text, context) => {
    // A client may send a plus sign without escaping it. It then arrives as a space, in times and at the start of phone
    // numbers.
    const time = parseIsoTime(text.replace(' ', '+'));
    if (time) return time;
    context.addIssue({ code: 'custom', message: 'must be an ISO 8601 time with Z or an offset' });
    return z.NEVER;
  })
  .optional();

const historyQuery = pageQuery.extend({
  status: messageStatus.optional(),
  to: z
    .string()
    .min(1)
    .transform((text) => text.replace(/^ /, '+'))
    .optional()
    .describe(
      'Only messages to this recipient, in any form that a send accepts. The part of an email address before the `@` is case-sensitive.',
    ),
  from: timeFilter.describe('Only messages created at this ISO 8601 time or later.'),
  until: timeFilter.describe('Only messages created at this ISO 8601 time or earlier.'),
  environment: z
    .enum(ENVIRONMENTS)
    .optional()
    .describe(
      'Only messages of this environment; a production key sees both by default, a sandbox key the sandbox only.',
    ),
});

/**
 * Defines the history route of a channel, newest messages first (R20). New messages move older messages to later pages.
 * So a client that reads page by page may see a message twice, but misses no message. With `until`, the client sees
 * each message once.
 */
export function historyRoute(channel: Channel, name: string, tag: string): Route {
  return defineRoute({
    method: 'get',
    path: `/developers/${channel}/history`,
    summary: `${name} history, newest first`,
    tag,
    operation: (operations) => operations.messages.history,
    query: historyQuery,
    response: envelope(historyEntry),
    async handle({ caller, operations, query: { page, limit, ...filter } }) {
      const request = { page, limit };
      const found = await operations.messages.history.run(caller, { channel, filter, page: request });
      return { body: paginated(found, request, entryOf) };
    },
  });
}
