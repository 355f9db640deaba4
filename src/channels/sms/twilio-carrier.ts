/** SMS through Twilio: its messages resource and its status callbacks. */
import { createHmac, timingSafeEqual } from 'node:crypto';
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
  isLoopbackHost,
  member,
  parseCarrierUrl,
} from './http-carrier.ts';

/** The longest time in seconds that a message may wait in Twilio's queue. */
const MAX_VALIDITY_SECONDS = 36_000;
const LEAST_VALIDITY_SECONDS = 5;
/** Twilio's error code for a full queue of the sender. */
const QUEUE_FULL = 21611;
const CALLBACK_PATH = '/callbacks/sms/twilio';

export interface TwilioOptions {
  readonly url: string;
  /** The external URL of the gateway. */
  readonly publicUrl: string;
  readonly timeoutMs?: number;
  /** The clock for deadlines. Default: the clock of the process. */
  readonly now?: (() => Date) | undefined;
}

/**
 * Creates a carrier from `twilio://accountSid:authToken@host`, where the host is api.twilio.com. A callback is accepted
 * if its signature over PUBLIC_URL and its fields is right. Throws an Error if the URL is invalid.
 */
export function createTwilioCarrier({
  url,
  publicUrl,
  timeoutMs,
  now = () => new Date(),
}: TwilioOptions): HttpCarrier {
  const { user: accountSid, secret: authToken, host, baseUrl, isLoopback } = parseCarrierUrl(url);
  // Twilio refuses messages whose callback URL has a private address.
  const isReachable = isLoopback || !isLoopbackHost(new URL(publicUrl).hostname);
  const authorization = `Basic ${Buffer.from(`${accountSid}:${authToken}`).toString('base64')}`;
  const api: HttpCarrierApi = {
    kind: 'twilio',
    name: `twilio:${accountSid}@${host}`,
    baseUrl,
    timeoutMs,
    now,
    request: (submission: SmsSubmission) => ({
      path: `/2010-04-01/Accounts/${encodeURIComponent(accountSid)}/Messages.json`,
      headers: { authorization },
      form: {
        To: submission.to,
        From: senderOf(submission.from),
        Body: submission.text,
        ...validityOf(submission.expiresAt.getTime() - now().getTime()),
        ...(isReachable ? { StatusCallback: publicUrl + CALLBACK_PATH } : {}),
      },
    }),
    read: readAnswer,
    balance: {
      path: `/2010-04-01/Accounts/${encodeURIComponent(accountSid)}/Balance.json`,
      headers: { authorization },
      read: (body) => balanceOf(body),
    },
    readCallback: (callback) =>
      isSigned(callback, publicUrl, authToken) ? reportsOf(callback.form) : undefined,
    readInbound,
    // Twilio sends the body of an answer as an SMS, unless it is TwiML. This TwiML does nothing.
    inboundAnswer: { contentType: 'text/xml', body: '<Response/>' },
  };
  return new HttpCarrier(api);
}

/**
 * Adds the `+` to a phone number. A sender of seven or more digits is a phone number. A sender with fewer digits is a
 * short code.
 */
function senderOf(from: string): string {
  return /^[0-9]{7,}$/.test(from) ? `+${from}` : from;
}

function balanceOf(body: ApiAnswer['body']): ProviderBalance | undefined {
  const [balance, currency] = [member(body, 'balance'), member(body, 'currency')];
  if (typeof currency !== 'string' || !/^[A-Z]{3}$/i.test(currency)) return undefined;
  const amount = Number.parseFloat(String(balance));
  return Number.isFinite(amount) ? { amount, currency: currency.toUpperCase() } : undefined;
}

function validityOf(leftMs: number): { ValidityPeriod?: string } {
  const seconds = Math.floor(leftMs / 1000);
  if (seconds >= MAX_VALIDITY_SECONDS) return {};
  return { ValidityPeriod: String(Math.max(LEAST_VALIDITY_SECONDS, seconds)) };
}

function readAnswer({ status, body }: ApiAnswer, submission: SmsSubmission): ApiOutcome {
  const error = status < 300 ? member(body, 'error_code') : member(body, 'code');
  const code = error === undefined || error === null ? undefined : String(error);
  const words = String(member(body, 'message') ?? member(body, 'error_message') ?? `answered ${status}`);
  if (status < 300) {
    if (code !== undefined) return { kind: 'rejected', code, reason: words };
    if (body !== undefined) return { kind: 'accepted', sid: sidOf(body.sid, submission) };
    return { kind: 'unavailable', reason: `an answer ${status} that is not Twilio's` };
  }
  // Wrong credentials, or a URL that does not belong to this account.
  if (status === 401 || status === 403 || status === 404) return { kind: 'own', reason: words };
  if (code === String(QUEUE_FULL)) return { kind: 'unavailable', reason: words, definitelyNotSent: true };
  return { kind: 'rejected', code: code ?? `http_${status}`, reason: words.slice(0, 300) };
}

/**
 * Checks the signature. It covers the URL that Twilio called, followed by the fields sorted by name, each name followed
 * by its value.
 */
function isSigned({ target, form, header }: SmsCallback, publicUrl: string, authToken: string): boolean {
  const fields = [...form].sort(([left], [right]) => (left < right ? -1 : left > right ? 1 : 0));
  const signed = publicUrl + target + fields.map(([name, value]) => name + value).join('');
  const expected = createHmac('sha1', authToken).update(signed).digest();
  const given = Buffer.from(header('x-twilio-signature') ?? '', 'base64');
  return given.length === expected.length && timingSafeEqual(given, expected);
}

/** Returns the text in a callback. Only texts to the gateway have the status `received`. */
function readInbound(form: URLSearchParams): InboundText | undefined {
  const [sender, to] = [field(form, 'From'), field(form, 'To')];
  if (form.get('SmsStatus') !== 'received' || sender === undefined || to === undefined) return undefined;
  return { sid: field(form, 'MessageSid'), sender, to, text: form.get('Body') ?? '' };
}

/** Returns the reports in a callback. Statuses that are not final (queued, sending, sent) are ignored. */
function reportsOf(form: URLSearchParams): DeliveryReport[] {
  const sid = field(form, 'MessageSid');
  if (sid === undefined) return [];
  const number = field(form, 'To');
  const to = number === undefined ? {} : { to: number };
  switch (form.get('MessageStatus')) {
    case 'delivered':
    case 'read':
      return [{ sid, status: 'delivered', ...to }];
    case 'undelivered':
    case 'failed':
    case 'canceled': {
      const code = field(form, 'ErrorCode');
      const reason = `the carrier could not deliver it${code === undefined ? '' : ` (error ${code})`}`;
      return [{ sid, status: 'failed', ...to, ...(code === undefined ? {} : { code }), reason }];
    }
    default:
      return [];
  }
}
