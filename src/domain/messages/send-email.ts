import type { AccountCaller, Environment } from '../caller.ts';
import { validationError } from '../errors.ts';
import { acceptMessage, type SendAnswer, type SendContext } from './accept-message.ts';
import { listFault, parseAddresses } from './email-address.ts';
import { checkEmailContent, type EmailContentInput } from './email-content.ts';
import { checkSchedule } from './price-sms.ts';
import { unitPriceOf } from './unit-price.ts';

/** Recipients a request may have after invalid and repeated ones are gone (R23). */
const EMAIL_MAX_RECIPIENTS = 50;

export interface EmailInput extends EmailContentInput {
  /** Addresses separated by commas, or in a list. */
  readonly to: string | readonly string[];
  readonly scheduledFor?: string | undefined;
  readonly environment: Environment;
  readonly idempotencyKey?: string | undefined;
}

/**
 * Accepts an email (R23). Throws `validation_error`, `invalid_scheduled_time`, and what `acceptMessage`
 * throws. Addresses that are none are skipped and counted as long as one is left.
 */
export async function sendEmail(
  context: SendContext,
  caller: AccountCaller,
  input: EmailInput,
): Promise<SendAnswer> {
  const { from, shown, payload, body } = checkEmailContent(input, context.emailFrom);
  const scheduledFor = checkSchedule(input.scheduledFor, context.clock.now());
  const wrong = listFault(input.to);
  if (wrong !== undefined) throw validationError([{ path: 'to', message: wrong }]);
  const { valid, invalid, duplicatesRemoved } = parseAddresses(input.to);
  if (valid.length === 0) {
    throw validationError([
      { path: 'to', message: 'no valid address; give addresses such as ann@example.com' },
    ]);
  }
  if (valid.length > EMAIL_MAX_RECIPIENTS) {
    throw validationError([{ path: 'to', message: `at most ${EMAIL_MAX_RECIPIENTS} recipients a request` }]);
  }
  const price = await unitPriceOf(context, caller.accountId, 'email', '');
  // Who has a mail of their own needs no copy.
  const named = new Set(valid.map((address) => address.toLowerCase()));
  const copyOnly = (addresses: readonly string[]) =>
    addresses.filter((address) => !named.has(address.toLowerCase()) && named.add(address.toLowerCase()));
  return await acceptMessage(context, caller, {
    channel: 'email',
    environment: input.environment,
    from,
    content: shown,
    payload: { ...payload, cc: copyOnly(payload.cc), bcc: copyOnly(payload.bcc) },
    bulk: { ...body },
    recipients: valid.map((address) => ({ address, costMinor: price.unitPriceMinor })),
    ...price,
    invalidSkipped: invalid.length,
    duplicatesRemoved,
    scheduledFor,
    idempotencyKey: input.idempotencyKey,
  });
}
