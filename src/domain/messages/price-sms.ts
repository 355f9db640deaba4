import { DomainError, validationError } from '../errors.ts';
import { parseIsoTime } from '../iso-time.ts';
import type { Tariff } from '../money/tariff.ts';
import { truncate } from '../text.ts';
import { parseRecipients } from './msisdn.ts';
import { parseSenderId, SENDER_ID_MAX_LENGTH } from './sender-id.ts';
import { describeText, type SmsTextDescription } from './sms-text.ts';

/** Longest SMS, in UTF-16 code units (R184). */
const SMS_MAX_LENGTH = 1000;
/** Recipients a request may have after invalid and repeated ones are gone (R22). */
const SMS_MAX_RECIPIENTS = 1000;
/** How far ahead a message may be scheduled, and how far in the past still counts as now (R18). */
const SCHEDULE_AHEAD_MS = 30 * 24 * 3_600_000;
const SCHEDULE_GRACE_MS = 60_000;

export interface SmsInput {
  /** One recipient, or several separated by commas. */
  readonly to: string;
  readonly message: string;
  readonly from?: string | undefined;
  readonly scheduledFor?: string | undefined;
}

export interface PricedSms {
  readonly from: string;
  readonly text: SmsTextDescription;
  readonly recipients: readonly { readonly address: string; readonly costMinor: number }[];
  readonly invalidNumbers: readonly string[];
  readonly duplicatesRemoved: number;
  /** One billing unit to the first recipient. */
  readonly unitPriceMinor: number;
  readonly costMinor: number;
  readonly scheduledFor: Date | null;
}

/**
 * Every rule of a send up to the charge (R17, R18, R22, R34, R90–R101), the same
 * for send and quote. Throws the refusal that the first broken rule has.
 */
export function priceSms(
  input: SmsInput,
  context: { tariff: Tariff; currency: string; defaultSenderId: string; now: Date },
): PricedSms {
  const text = checkText(input.message);
  const from = checkSender(input.from, context.defaultSenderId);
  const scheduledFor = checkSchedule(input.scheduledFor, context.now);
  const parsed = parseRecipients(input.to, SMS_MAX_RECIPIENTS);
  if (parsed.isCutShort) {
    const message = `at most ${2 * SMS_MAX_RECIPIENTS} different spellings of foreign numbers a request`;
    throw validationError([{ path: 'to', message }]);
  }
  if (parsed.valid.length === 0) {
    throw new DomainError(
      'invalid_phone_number',
      'No valid recipient. Give numbers in E.164 form, such as +256700123456, separated by commas.',
      { field: 'to', value: truncate(input.to) },
    );
  }
  if (parsed.valid.length > SMS_MAX_RECIPIENTS) {
    throw validationError([{ path: 'to', message: `at most ${SMS_MAX_RECIPIENTS} recipients a request` }]);
  }
  const recipients = parsed.valid.map((address) => {
    const unitPrice = context.tariff.unitPrice(context.currency, 'sms', address);
    if (unitPrice === undefined) {
      throw new DomainError(
        'unpriced_destination',
        `There is no ${context.currency} price for SMS to ${address}. Ask the operator to set one.`,
        { destination: address, currency: context.currency },
      );
    }
    return { address, costMinor: unitPrice * text.billingUnits, unitPrice };
  });
  return {
    from,
    text,
    recipients,
    invalidNumbers: parsed.invalid,
    duplicatesRemoved: parsed.duplicatesRemoved,
    unitPriceMinor: recipients[0]?.unitPrice ?? 0,
    costMinor: recipients.reduce((sum, recipient) => sum + recipient.costMinor, 0),
    scheduledFor,
  };
}

function checkText(message: string): SmsTextDescription {
  if (message.length === 0) throw validationError([{ path: 'message', message: 'must not be empty' }]);
  if (message.length > SMS_MAX_LENGTH) {
    throw new DomainError(
      'message_too_long',
      `The message has ${message.length} characters; at most ${SMS_MAX_LENGTH} are allowed.`,
      { field: 'message', length: message.length, maximum: SMS_MAX_LENGTH },
    );
  }
  return describeText(message);
}

function checkSender(from: string | undefined, defaultSenderId: string): string {
  if (from === undefined) return defaultSenderId;
  const senderId = parseSenderId(from);
  if (senderId !== undefined) return senderId;
  throw new DomainError(
    'invalid_sender_id',
    `The sender ID must be 1 to ${SENDER_ID_MAX_LENGTH} letters A-Z or digits, without spaces or special characters.`,
    { field: 'from', value: truncate(from) },
  );
}

/** The instant to send at, or null for now (R18). */
export function checkSchedule(scheduledFor: string | undefined, now: Date): Date | null {
  if (scheduledFor === undefined) return null;
  const refuse = (why: string) =>
    new DomainError('invalid_scheduled_time', `scheduledFor ${why}`, {
      field: 'scheduledFor',
      value: truncate(scheduledFor),
    });
  const time = parseIsoTime(scheduledFor);
  if (!time) throw refuse('must be an ISO 8601 time with Z or an offset, such as 2030-01-31T09:00:00Z.');
  const aheadMs = time.getTime() - now.getTime();
  if (aheadMs > SCHEDULE_AHEAD_MS) throw refuse('is more than 30 days ahead.');
  if (aheadMs < -SCHEDULE_GRACE_MS) throw refuse('is in the past.');
  return aheadMs <= 0 ? null : time;
}
