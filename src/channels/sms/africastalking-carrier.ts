/** SMS through Africa's Talking: its messaging API and its delivery reports. */
import { createHash, timingSafeEqual } from 'node:crypto';
import type {
  DeliveryReport,
  InboundText,
  ProviderBalance,
  SmsSubmission,
} from '../../domain/ports/provider.ts';
import type { SmsCallback } from '../../domain/ports/sms-callbacks.ts';
import { sidOf } from '../sid-of.ts';
import {
  type ApiAnswer,
  type ApiOutcome,
  field,
  HttpCarrier,
  type HttpCarrierApi,
  member,
  parseCarrierUrl,
} from './http-carrier.ts';

/** Status codes of accepted recipients: processed, sent, queued. */
const TAKEN = [100, 101, 102];
/** The text with which the API says that there is no id. */
const NO_ID = 'None';
const INSUFFICIENT_BALANCE = 405;
/** Internal errors of the API. The recipient may be retried. */
const TEMPORARY = [500, 501];
/** The texts with which the API refuses the whole request. */
const REFUSALS =
  /^(InvalidSenderId|InvalidPhoneNumber|UnsupportedNumberType|UserInBlacklist|CouldNotRoute|RiskHold)/;

const OPEN_CALLBACKS =
  'anybody can send its delivery reports; add ?callbackToken=SECRET to its URL, and ?token=SECRET to the callback URL at the carrier';

const FAILED: Readonly<Record<string, string>> = {
  Rejected: 'the network rejected the message',
  Failed: 'the message could not be delivered',
  Expired: 'the message expired before it could be delivered',
  AbsentSubscriber: 'the subscriber could not be reached',
};

/**
 * Creates a carrier from `africastalking://username:apiKey@host[?callbackToken=SECRET]`. The host is
 * api.africastalking.com or, for tests, api.sandbox.africastalking.com. Its callbacks are not signed. With a
 * `callbackToken`, only callbacks with the same `?token=` are accepted. Without it, anybody who knows the id of a sent
 * message can report on that message, and reports on other ids are not kept. Production requires a token. Throws an
 * Error if the URL is invalid.
 */
export function createAfricasTalkingCarrier({
  url,
  timeoutMs,
  now,
}: {
  url: string;
  timeoutMs?: number;
  now?: (() => Date) | undefined;
}): HttpCarrier {
  const { user: username, secret: apiKey, host, baseUrl, query } = parseCarrierUrl(url, ['callbackToken']);
  // An empty token would match every callback without a token.
  const token = query.get('callbackToken') || undefined;
  const api: HttpCarrierApi = {
    kind: 'africastalking',
    name: `africastalking:${username}@${host}`,
    baseUrl,
    openCallbacks: token === undefined ? OPEN_CALLBACKS : undefined,
    timeoutMs,
    now,
    request: ({ to, from, text }: SmsSubmission) => ({
      path: '/version1/messaging',
      headers: { apiKey },
      form: { username, to, from, message: text, bulkSMSMode: '1' },
    }),
    read: readAnswer,
    balance: {
      path: `/version1/user?username=${encodeURIComponent(username)}`,
      headers: { apiKey },
      read: (body) => balanceOf(member(member(body, 'UserData'), 'balance')),
    },
    readCallback: (callback) => (isTold(callback, token) ? reportsOf(callback.form) : undefined),
    readInbound,
  };
  return new HttpCarrier(api);
}

/** Reads a balance such as `UGX 1785.50`. */
function balanceOf(text: unknown): ProviderBalance | undefined {
  const [, currency, amount] = /^([A-Z]{3}) (-?[0-9.]{1,20})$/.exec(String(text)) ?? [];
  return currency === undefined ? undefined : { amount: Number(amount), currency };
}

function readAnswer({ status, body }: ApiAnswer, submission: SmsSubmission): ApiOutcome {
  if (status === 401 || status === 403) return { kind: 'own', reason: 'the user name or API key is refused' };
  const data = member(body, 'SMSMessageData');
  const words = String(member(data, 'Message') ?? '').slice(0, 200);
  const recipients = member(data, 'Recipients');
  const recipient: unknown = Array.isArray(recipients) ? recipients[0] : undefined;
  if (recipient !== undefined) return readRecipient(recipient, submission);
  if (REFUSALS.test(words)) return { kind: 'rejected', code: words.split(/\W/)[0] ?? '', reason: words };
  if (status >= 400)
    return { kind: 'rejected', code: `http_${status}`, reason: words || `answered ${status}` };
  // The answer does not say whether the API accepted the message.
  return { kind: 'unavailable', reason: `the answer names no recipient: ${words || 'no message'}` };
}

function readRecipient(recipient: unknown, submission: SmsSubmission): ApiOutcome {
  const statusCode = Number(member(recipient, 'statusCode'));
  const status = String(member(recipient, 'status') ?? statusCode).slice(0, 100);
  if (TAKEN.includes(statusCode)) {
    const id = member(recipient, 'messageId');
    return { kind: 'accepted', sid: sidOf(id === NO_ID ? undefined : id, submission) };
  }
  if (statusCode === INSUFFICIENT_BALANCE)
    return { kind: 'own', reason: 'the balance with the carrier is too low' };
  if (TEMPORARY.includes(statusCode)) return { kind: 'unavailable', reason: status };
  return {
    kind: 'rejected',
    code: status,
    reason: `the carrier refused the recipient: ${status} (${statusCode})`,
  };
}

/**
 * True if the callback has the right token. Compares digests, so that the time of the comparison reveals neither
 * content nor length.
 */
function isTold({ target }: SmsCallback, token: string | undefined): boolean {
  if (token === undefined) return true;
  const given = new URLSearchParams(target.split('?')[1] ?? '').get('token') ?? '';
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(given), digest(token));
}

/** Returns the text in a callback for incoming messages. Callbacks with delivery reports have no `from`. */
function readInbound(form: URLSearchParams): InboundText | undefined {
  const [sender, to] = [field(form, 'from'), field(form, 'to')];
  if (sender === undefined || to === undefined) return undefined;
  return { sid: field(form, 'id'), sender, to, text: form.get('text') ?? '' };
}

/** Returns the reports in a callback. Reports without a final state (sent, submitted, buffered) are ignored. */
function reportsOf(form: URLSearchParams): DeliveryReport[] {
  const sid = field(form, 'id');
  const status = field(form, 'status') ?? '';
  if (sid === undefined) return [];
  const number = field(form, 'phoneNumber');
  const to = number === undefined ? {} : { to: number };
  if (status === 'Success') return [{ sid, status: 'delivered', ...to }];
  const words = FAILED[status];
  if (words === undefined) return [];
  const why = field(form, 'failureReason');
  return [{ sid, status: 'failed', ...to, code: why ?? status, reason: why ? `${words} (${why})` : words }];
}
