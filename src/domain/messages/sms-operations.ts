import { type Environment, environmentOf } from '../caller.ts';
import type { Dependencies } from '../dependencies.ts';
import { checkAll, DomainError, notFound, validationError } from '../errors.ts';
import { checkDestinations } from '../limits/send-limits.ts';
import type { Tariff } from '../money/tariff.ts';
import { operation } from '../operation.ts';
import { truncate } from '../text.ts';
import type { PricedMessage } from './message.ts';
import { parseRecipients } from './msisdn.ts';
import { linkFault, withBlankLinks, withWayOut } from './opt-out.ts';
import {
  checkSchedule,
  prepareMessage,
  SEND_SCOPES,
  SENDER_ROLES,
  type Send,
  type SendContext,
  type SendRequest,
  senderIds,
  senderOf,
  sendOn,
  sendOperation,
} from './send-operation.ts';
import { parseSenderId, SENDER_ID_MAX_LENGTH } from './sender-id.ts';
import {
  describeText,
  type SmsTextDescription,
  type UnicodeCharacter,
  unicodeCharacters,
} from './sms-text.ts';

/** Longest SMS, in UTF-16 code units (R184). */
const SMS_MAX_LENGTH = 1000;
/** Largest number of valid and different recipients of one request (R22). */
const SMS_MAX_RECIPIENTS = 1000;

export interface SmsRequest extends SendRequest {
  /** One phone number, or several separated by commas. */
  readonly to: string;
  readonly message: string;
  readonly from?: string | undefined;
  readonly scheduledFor?: string | undefined;
}

/** What an SMS would cost, and how the gateway read its text and its numbers (R21). */
export interface SmsQuote {
  readonly recipientsProcessed: number;
  /** The elements of `to` that are no phone number, as the request gave them. */
  readonly invalidNumbers: readonly string[];
  readonly duplicatesRemoved: number;
  readonly suppressedSkipped: number;
  /** When the last recipient that quiet hours hold would leave. Null if they hold none (R385). */
  readonly heldUntil: Date | null;
  readonly text: SmsTextDescription;
  /** The characters that GSM-7 does not have, so that the text needs UCS-2. */
  readonly unicodeCharacters: readonly UnicodeCharacter[];
  /** What the same send would charge, in minor units. It is 0 in the sandbox. */
  readonly costMinor: number;
  readonly currency: string;
  readonly balanceMinor: number;
  readonly environment: Environment;
}

async function priceFor(
  context: SendContext,
  request: SmsRequest,
  accountId: string,
): Promise<PricedMessage> {
  const currency = await context.currencyOf(accountId);
  const tariff = await context.tariff();
  return priceSms(request, {
    tariff,
    currency,
    defaultSenderId: context.defaultSenderId,
    publicUrl: context.publicUrl(),
    now: context.clock.now(),
  });
}

/** Returns the steps that send an SMS. */
export function smsSend(context: SendContext): Send<SmsRequest> {
  return sendOn(context, 'sms', (request, { accountId }) => priceFor(context, request, accountId));
}

/** Operations that send SMS and quote their cost. */
export function smsOperations({ stores }: Pick<Dependencies, 'stores'>, context: SendContext) {
  return {
    /** Sends an SMS. `POST /developers/sms` calls it (R90 to R101). */
    sendSms: sendOperation('message.sendSms', 'sms', smsSend(context)),

    /**
     * Returns the cost of a send without sending. It makes the same checks as a send, and throws the same refusals, but
     * does not call intake (R21).
     */
    quoteSms: operation(
      'message.quoteSms',
      { scopes: [SEND_SCOPES.sms], roles: SENDER_ROLES },
      async (caller, request: SmsRequest): Promise<SmsQuote> => {
        const sender = senderOf(caller);
        const environment = environmentOf(sender, request.environment);
        const owner = { accountId: sender.accountId, environment };
        const asked = await priceFor(context, request, sender.accountId);
        await context.checkSender(owner, 'sms', asked.from, request.purpose);
        const priced = await context.leaveOutSuppressed(owner, 'sms', request.purpose, asked);
        checkDestinations(await context.limitsOf(sender), 'sms', priced.recipients);
        const prepared = prepareMessage(
          context,
          senderIds(sender),
          'sms',
          environment,
          priced,
          request.idempotencyKey,
        );
        const account = await stores.accounts.find(sender.accountId);
        if (!account) throw notFound('Account');
        return {
          recipientsProcessed: priced.recipients.length,
          invalidNumbers: priced.skipped,
          duplicatesRemoved: priced.duplicatesRemoved,
          suppressedSkipped: priced.suppressedSkipped,
          heldUntil: prepared.heldUntil,
          text: describeText(priced.content),
          unicodeCharacters: unicodeCharacters(priced.content),
          costMinor: prepared.costMinor,
          currency: prepared.currency,
          balanceMinor: account.balanceMinor,
          environment,
        };
      },
    ),
  };
}

/**
 * Checks everything about an SMS that does not depend on its route or the balance, and returns its price. If several
 * rules are broken, the error lists all of them (R270). The rules are R90 to R101, R17, R18, R22 and R34.
 */
export function priceSms(
  request: SmsRequest,
  context: {
    tariff: Tariff;
    currency: string;
    defaultSenderId: string;
    publicUrl: string | undefined;
    now: Date;
  },
): PricedMessage {
  const { currency } = context;
  const { content, from, scheduledFor, to } = checkAll({
    content: () => checkText(request, context.publicUrl),
    from: () => checkSenderId(request.from, context.defaultSenderId),
    scheduledFor: () => checkSchedule(request.scheduledFor, context.now),
    to: () => checkRecipients(request.to),
  });
  const { billingUnits } = describeText(content);
  const { valid, invalid, duplicatesRemoved } = to;
  let firstPriceMinor: number | undefined;
  const recipients = valid.map((address) => {
    const unitPriceMinor = context.tariff.unitPrice(currency, 'sms', address);
    if (unitPriceMinor === undefined) {
      throw new DomainError(
        'unpriced_destination',
        `There is no ${currency} price for SMS to ${address}. Ask the operator to set one.`,
        { destination: address, currency },
      );
    }
    firstPriceMinor ??= unitPriceMinor;
    return { address, costMinor: unitPriceMinor * billingUnits };
  });
  return {
    from,
    content,
    payload: null,
    recipients,
    unitPriceMinor: firstPriceMinor ?? 0,
    currency,
    skipped: invalid,
    duplicatesRemoved,
    scheduledFor,
  };
}

/** Returns the text with a way out, and with blank links in the place of `{{optOut}}` (R440, R531). */
function checkText({ message: given, purpose }: SmsRequest, publicUrl: string | undefined): string {
  const terms = { purpose, publicUrl };
  const fault = linkFault(given, terms);
  if (fault !== undefined) throw validationError([{ path: 'message', message: fault }]);
  const message = withBlankLinks(withWayOut(given, terms), terms);
  if (message.length === 0) throw validationError([{ path: 'message', message: 'must not be empty' }]);
  if (message.length > SMS_MAX_LENGTH) {
    throw new DomainError(
      'message_too_long',
      `The message has ${message.length} characters${addedTo(given, message)}; at most ${SMS_MAX_LENGTH} are allowed.`,
      { field: 'message', length: message.length, maximum: SMS_MAX_LENGTH },
    );
  }
  return message;
}

/** Says how many characters the way out took, if the text is too long only with it. */
function addedTo(given: string, message: string): string {
  if (given.length > SMS_MAX_LENGTH) return '';
  return `, ${message.length - given.length} of them for the opt-out link of marketing`;
}

function checkSenderId(from: string | undefined, defaultSenderId: string): string {
  if (from === undefined) return defaultSenderId;
  const senderId = parseSenderId(from);
  if (senderId !== undefined) return senderId;
  throw new DomainError(
    'invalid_sender_id',
    `The sender ID must be 1 to ${SENDER_ID_MAX_LENGTH} letters A-Z or digits, without spaces or special characters.`,
    { field: 'from', value: truncate(from) },
  );
}

/** Parses the recipients of a request. There must be at least one valid number and at most `SMS_MAX_RECIPIENTS`. */
function checkRecipients(to: string) {
  const parsed = parseRecipients(to, SMS_MAX_RECIPIENTS);
  if (parsed.isCutShort) {
    const message = `at most ${2 * SMS_MAX_RECIPIENTS} different spellings of foreign numbers a request`;
    throw validationError([{ path: 'to', message }]);
  }
  if (parsed.valid.length === 0) {
    throw new DomainError(
      'invalid_phone_number',
      'No valid recipient. Give numbers in E.164 form, such as +256700123456, separated by commas.',
      { field: 'to', value: truncate(to) },
    );
  }
  if (parsed.valid.length > SMS_MAX_RECIPIENTS) {
    throw validationError([{ path: 'to', message: `at most ${SMS_MAX_RECIPIENTS} recipients a request` }]);
  }
  return parsed;
}
