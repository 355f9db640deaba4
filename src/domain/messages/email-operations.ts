import type { AccountEnvironment } from '../caller.ts';
import { checkAll, validationError } from '../errors.ts';
import { listFault, parseAddresses } from './email-address.ts';
import { checkEmailContent, type EmailContentInput } from './email-content.ts';
import type { PricedMessage } from './message.ts';
import {
  checkSchedule,
  type Send,
  type SendContext,
  type SendRequest,
  sendOn,
  sendOperation,
  unitPriceOf,
} from './send-operation.ts';

/** Largest number of valid and different recipients of one request (R23). */
const EMAIL_MAX_RECIPIENTS = 50;

export interface EmailRequest extends EmailContentInput, SendRequest {
  /** Email addresses, as a list or as text with commas. */
  readonly to: string | readonly string[];
  readonly scheduledFor?: string | undefined;
}

/** Returns the steps that send an email. */
export function emailSend(context: SendContext): Send<EmailRequest> {
  return sendOn(context, 'email', (request, { accountId }, environment) =>
    priceEmail(context, request, { accountId, environment }),
  );
}

/** The operation that sends email. */
export function emailOperations(context: SendContext) {
  return {
    /** Sends an email. `POST /developers/email` calls it (R23). */
    sendEmail: sendOperation('message.sendEmail', 'email', emailSend(context)),
  };
}

/**
 * Checks everything about an email that does not depend on its route or the balance, and returns its price (R23). Skips
 * and counts invalid addresses if at least one address is valid. Throws `validation_error`, `invalid_scheduled_time`
 * and `unpriced_destination`.
 */
async function priceEmail(
  context: SendContext,
  request: EmailRequest,
  owner: AccountEnvironment,
): Promise<PricedMessage> {
  const { content, scheduledFor, to } = checkAll({
    content: () => checkEmailContent(request, context.emailFrom, context.publicUrl()),
    scheduledFor: () => checkSchedule(request.scheduledFor, context.clock.now()),
    to: () => checkRecipients(request.to),
  });
  const { from, preview, payload, body } = content;
  const { valid, invalid, duplicatesRemoved } = to;
  const price = await unitPriceOf(context, owner.accountId, 'email', '');
  const dkimDomain = await context.signingDomainOf(owner, from);
  // Remove recipients from cc and bcc. Each of them gets a mail of their own already.
  const seen = new Set(valid.map((address) => address.toLowerCase()));
  const copyOnly = (addresses: readonly string[]) =>
    addresses.filter((address) => !seen.has(address.toLowerCase()) && seen.add(address.toLowerCase()));
  return {
    from,
    content: preview,
    payload: {
      ...payload,
      cc: copyOnly(payload.cc),
      bcc: copyOnly(payload.bcc),
      ...(dkimDomain === undefined ? {} : { dkimDomain }),
    },
    bulk: { ...body },
    recipients: valid.map((address) => ({ address, costMinor: price.unitPriceMinor })),
    ...price,
    skipped: invalid,
    duplicatesRemoved,
    scheduledFor,
  };
}

/**
 * Parses the recipients of a request. There must be at least one valid email address and at most
 * `EMAIL_MAX_RECIPIENTS`.
 */
function checkRecipients(to: EmailRequest['to']) {
  const refuse = (message: string) => validationError([{ path: 'to', message }]);
  const fault = listFault(to);
  if (fault !== undefined) throw refuse(fault);
  const parsed = parseAddresses(to);
  if (parsed.valid.length === 0) throw refuse('no valid address; give addresses such as ann@example.com');
  if (parsed.valid.length > EMAIL_MAX_RECIPIENTS) {
    throw refuse(`at most ${EMAIL_MAX_RECIPIENTS} recipients a request`);
  }
  return parsed;
}
