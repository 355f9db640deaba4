/**
 * The way out of marketing messages (R440, R531). The sender writes `{{optOut}}`, or the gateway adds a way out. An accepted message has a **blank link** in
 * its place, which is as long as the link in an SMS, so that length and price are right. The submission puts the
 * recipient's token into the blank link.
 */
import { serviceUnavailable } from '../errors.ts';
import type { OptOutTokens } from '../ports/opt-out-tokens.ts';
import type { OutgoingMessage, Purpose } from './message.ts';

export const OPT_OUT_PATH = '/o/';

const PLACE = '{{optOut}}';
/** Takes the place of a token. A token of an SMS has as many characters, and none is equal to it. */
const BLANK_TOKEN = 'own-link-per-recipient';
const BLANK = OPT_OUT_PATH + BLANK_TOKEN;
/** What a marketing SMS without a link ends with. */
const ADDED_TO_SMS = `\nStop: ${PLACE}`;
/** What a marketing text on WhatsApp ends with, where every reply reaches the gateway. */
const ADDED_TO_WHATSAPP = '\nReply STOP to get no more offers.';
/**
 * A text that tells people to answer STOP, in English, French or Swahili: what to do with the word, or what it is for.
 * The word alone may mean anything.
 */
const REPLY_STOP =
  /(?:reply|send|text|write|type|answer|répondez|repondez|envoyez|jibu|tuma|andika)(?: with| par)?[\s"'“«*_:]+STOP\b|\bSTOP\b[\s"'”»*_]+(?:ends|to (?:end|stop|opt out|unsubscribe)|pour|ili)\b/i;
const UNSUBSCRIBE = /^list-unsubscribe(-post)?$/i;

/** What decides about the links of a message. */
export interface OptOutTerms {
  readonly purpose: Purpose | undefined;
  /** PUBLIC_URL. Undefined in production if it is not set. */
  readonly publicUrl: string | undefined;
}

/**
 * Returns the fault of a text that has a place for a link, or the blank link of an earlier message, but another purpose
 * than `marketing`.
 */
export function linkFault(text: string, { purpose }: OptOutTerms): string | undefined {
  if (purpose === 'marketing' || !(text.includes(PLACE) || text.includes(BLANK))) return undefined;
  return `${PLACE} is for messages of the purpose marketing`;
}

/** Returns the text of an SMS with `{{optOut}}` at its end, if it is marketing without a link (R531). */
export function withWayOut(text: string, { purpose, publicUrl }: OptOutTerms): string {
  const hasLink = text.includes(PLACE) || (publicUrl !== undefined && text.includes(publicUrl + BLANK));
  return purpose === 'marketing' && text !== '' && !hasLink ? text + ADDED_TO_SMS : text;
}

/** Returns the text of a WhatsApp message with a way out at its end, if it is marketing that names none (R531). */
export function withReplyWayOut(text: string, purpose: Purpose | undefined): string {
  return purpose === 'marketing' && text !== '' && !REPLY_STOP.test(text) ? text + ADDED_TO_WHATSAPP : text;
}

/** Returns the text with blank links. Throws `service_unavailable` if the gateway has no PUBLIC_URL. */
export function withBlankLinks(text: string, { publicUrl }: OptOutTerms): string {
  return text.includes(PLACE) ? text.replaceAll(PLACE, blankLink(publicUrl)) : text;
}

/**
 * Returns the headers of an email. Those of a marketing email get a blank link with which mail programs offer to stop
 * the messages after one click (RFC 8058, R442), unless the sender gave a way out. Throws `service_unavailable` if the
 * gateway has no PUBLIC_URL.
 */
export function withUnsubscribe(
  headers: Readonly<Record<string, string>>,
  { purpose, publicUrl }: OptOutTerms,
): Readonly<Record<string, string>> {
  if (purpose !== 'marketing' || Object.keys(headers).some((name) => UNSUBSCRIBE.test(name))) return headers;
  return {
    ...headers,
    'List-Unsubscribe': `<${blankLink(publicUrl)}>`,
    'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
  };
}

/** Returns the function that puts the token of a recipient into the blank links of a text. */
export function linkWriter(
  { accountId, channel, purpose }: OutgoingMessage,
  address: string,
  tokens: OptOutTokens,
): (text: string) => string {
  if (purpose !== 'marketing' || (channel !== 'sms' && channel !== 'email')) return (text) => text;
  return (text) => {
    if (!text.includes(BLANK)) return text;
    const person = { accountTail: accountId.slice(-17), channel, address: address.toLowerCase() };
    return text.replaceAll(BLANK, OPT_OUT_PATH + tokens.tokenOf(person));
  };
}

function blankLink(publicUrl: string | undefined): string {
  if (publicUrl !== undefined) return publicUrl + BLANK;
  throw serviceUnavailable(
    'The gateway has no PUBLIC_URL for the opt-out links of marketing messages. Ask its operator.',
    60,
    'public_url_missing',
  );
}
