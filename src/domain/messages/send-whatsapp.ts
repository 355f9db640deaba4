import type { AccountCaller, Environment } from '../caller.ts';
import { DomainError, validationError } from '../errors.ts';
import { TargetRefused, type WebhookTransport } from '../ports/webhook-transport.ts';
import type { InboundStore } from '../ports/whatsapp.ts';
import { truncate } from '../text.ts';
import { acceptMessage, type SendAnswer, type SendContext } from './accept-message.ts';
import { parseMsisdn } from './msisdn.ts';
import { checkSchedule } from './price-sms.ts';
import { unitPriceOf } from './unit-price.ts';
import { checkWhatsAppContent, shownContent, type WhatsAppContentInput } from './whatsapp-content.ts';
import { sessionWindow, windowClosed } from './whatsapp-window.ts';

export interface WhatsAppInput extends WhatsAppContentInput {
  /** One number, in any form that an SMS takes. */
  readonly to: string;
  readonly scheduledFor?: string | undefined;
  readonly environment: Environment;
  readonly idempotencyKey?: string | undefined;
}

/**
 * Accepts a WhatsApp message (R25), in the sandbox by the same rules. Throws `validation_error`,
 * `invalid_phone_number`, `invalid_scheduled_time`, `session_window_closed`, and what `acceptMessage` throws.
 */
export async function sendWhatsApp(
  context: SendContext,
  outside: {
    readonly inbound: Pick<InboundStore, 'lastFrom'>;
    readonly targets: Pick<WebhookTransport, 'checkAddress'>;
  },
  caller: AccountCaller,
  input: WhatsAppInput,
): Promise<SendAnswer> {
  const content = checkWhatsAppContent(input);
  const now = context.clock.now();
  const scheduledFor = checkSchedule(input.scheduledFor, now);
  const to = oneNumber(input.to);
  if (content.type === 'media') await checkMediaUrl(outside.targets, content.url);
  if (content.type !== 'template') {
    const home = { accountId: caller.accountId, environment: input.environment };
    const window = await sessionWindow(outside.inbound, home, to, scheduledFor ?? now);
    if (!window.isOpen) throw windowClosed(window);
  }
  const price = await unitPriceOf(context, caller.accountId, 'whatsapp', to);
  return await acceptMessage(context, caller, {
    channel: 'whatsapp',
    environment: input.environment,
    from: context.defaultSenderId,
    content: shownContent(content),
    payload: { ...content },
    recipients: [{ address: to, costMinor: price.unitPriceMinor }],
    ...price,
    invalidSkipped: 0,
    duplicatesRemoved: 0,
    scheduledFor,
    idempotencyKey: input.idempotencyKey,
  });
}

/** The one number that `to` holds. Throws `invalid_phone_number`. */
export function oneNumber(to: string): string {
  const number = parseMsisdn(to);
  if (number !== undefined) return number;
  throw new DomainError(
    'invalid_phone_number',
    'A WhatsApp message goes to one number. Give it in E.164 form, such as +256700123456.',
    { field: 'to', value: truncate(to) },
  );
}

/** The platform fetches the file, but an address on the inside is nobody's to name. */
async function checkMediaUrl(targets: Pick<WebhookTransport, 'checkAddress'>, url: string): Promise<void> {
  try {
    await targets.checkAddress(url);
  } catch (error) {
    if (!(error instanceof TargetRefused)) throw error;
    throw validationError([{ path: 'media.url', message: `cannot be used: ${error.reason}` }]);
  }
}
