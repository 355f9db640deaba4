/** Converts a submission to the submit_sm PDUs of its parts, without I/O. */
import type { PduFields } from 'smpp';
import type { SmsEncoding } from '../../../domain/messages/sms-text.ts';
import type { ProviderOutcome, SmsSubmission } from '../../../domain/ports/provider.ts';
import { encodeGsm7, splitGsm7 } from './gsm7.ts';
import type { SmppSettings } from './smpp-settings.ts';

const ESM_CLASS_UDH = 0x40;
const FINAL_RECEIPT = 1;
const MAX_VALIDITY_MS = 48 * 3_600_000;
const MIN_VALIDITY_MS = 60_000;

export interface SmppMessage {
  readonly text: WireText;
  readonly fields: PduFields;
}

/**
 * Returns the fields that all parts share. Returns `rejected` for what no carrier could accept: an invalid sender or
 * recipient, or a text outside its alphabet.
 */
export function toSmppMessage(
  submission: SmsSubmission,
  settings: SmppSettings,
  now: Date,
): SmppMessage | ProviderOutcome {
  const source = sourceAddress(submission.from, { ton: settings.sourceTon, npi: settings.sourceNpi });
  if (source === undefined) {
    return rejected('ESME_RINVSRCADR', 'the sender ID does not fit an SMPP source address');
  }
  const destination = destinationAddress(submission.to);
  if (destination === undefined) {
    return rejected('ESME_RINVDSTADR', 'the recipient is not a phone number');
  }
  const text = toWireText(submission.text, submission.encoding);
  if (typeof text === 'string') return rejected('ESME_RINVMSGLEN', text);
  return {
    text,
    fields: {
      source_addr_ton: source.ton,
      source_addr_npi: source.npi,
      source_addr: source.address,
      dest_addr_ton: destination.ton,
      dest_addr_npi: destination.npi,
      destination_addr: destination.address,
      registered_delivery: FINAL_RECEIPT,
      data_coding: text.dataCoding,
      esm_class: text.parts.length > 1 ? ESM_CLASS_UDH : 0,
      validity_period: settings.validity ? validityPeriod(submission.expiresAt, now) : '',
    },
  };
}

/** Returns the submit_sm of part `index` (counted from 0). */
export function partFields({ fields, text }: SmppMessage, index: number, reference: number): PduFields {
  const octets = text.parts[index] ?? Buffer.alloc(0);
  const total = text.parts.length;
  return {
    ...fields,
    short_message: total > 1 ? withConcatenation(octets, reference, index, total) : octets,
  };
}

/**
 * Returns the time in SMPP's absolute format in UTC, `YYMMDDhhmmsst00+`. It is at least a minute ahead, so that a
 * carrier whose clock is fast still accepts the message. Many carriers refuse a time 48 h ahead or later. For such a
 * time it is empty, and the carrier's default applies.
 */
function validityPeriod(expiresAt: Date, now: Date): string {
  const aheadMs = expiresAt.getTime() - now.getTime();
  if (!(aheadMs < MAX_VALIDITY_MS)) return '';
  const until = new Date(now.getTime() + Math.max(aheadMs, MIN_VALIDITY_MS));
  const digits = until.toISOString().replace(/\D/g, '');
  return `${digits.slice(2, 15)}00+`;
}

function rejected(code: string, reason: string): ProviderOutcome {
  return { kind: 'rejected', asked: false, code, reason };
}

/** An address in SMPP: type of number (TON), numbering plan (NPI), and up to 20 ASCII characters. */
interface SmppAddress {
  readonly ton: number;
  readonly npi: number;
  readonly address: string;
}

const INTERNATIONAL = { ton: 1, npi: 1 };
const NETWORK_SPECIFIC = { ton: 3, npi: 0 };
const ALPHANUMERIC = { ton: 5, npi: 0 };
const SHORT_CODE_DIGITS = 6;

/**
 * Returns the sender. Up to six digits are a short code (TON 3, NPI 0). More digits, with or without `+`, are an
 * international number (TON 1, NPI 1). Anything else is alphanumeric (TON 5, NPI 0). `override` replaces TON and NPI
 * for carriers with other rules. Undefined if the sender does not fit the field.
 */
function sourceAddress(
  from: string,
  override: { readonly ton?: number; readonly npi?: number } = {},
): SmppAddress | undefined {
  if (!/^[\x20-\x7e]{1,20}$/.test(from)) return undefined;
  const kind = sourceKind(from);
  const address = kind === INTERNATIONAL ? from.replace('+', '') : from;
  return { ton: override.ton ?? kind.ton, npi: override.npi ?? kind.npi, address };
}

/**
 * Returns the recipient, a phone number with or without `+` (R34), as TON 1, NPI 1 and digits only. Undefined if it is
 * not a number.
 */
function destinationAddress(to: string): SmppAddress | undefined {
  const digits = /^\+?(\d{1,20})$/.exec(to)?.[1];
  return digits === undefined ? undefined : { ...INTERNATIONAL, address: digits };
}

function sourceKind(from: string) {
  if (/^\+\d+$/.test(from)) return INTERNATIONAL;
  if (!/^\d+$/.test(from)) return ALPHANUMERIC;
  return from.length <= SHORT_CODE_DIGITS ? NETWORK_SPECIFIC : INTERNATIONAL;
}

const GSM7_ALONE = 160;
const GSM7_PART = 153;
const UCS2_ALONE = 70;
const UCS2_PART = 67;
const MAX_PARTS = 255;
const DATA_CODING_DEFAULT = 0;
const DATA_CODING_UCS2 = 8;

export interface WireText {
  readonly dataCoding: number;
  /** The octets of each part in order, without the concatenation header (UDH). */
  readonly parts: readonly Buffer[];
}

/**
 * Returns the octets of the text's parts. GSM-7, unpacked: 160 septets in a single part, or 153 in each of several
 * parts. UCS-2, big-endian: 70 code units in a single part, or 67 in each of several. Neither an extension character
 * nor a surrogate pair is split. If the text cannot be sent, returns a string that says why.
 */
export function toWireText(text: string, encoding: SmsEncoding): WireText | string {
  const wire = encoding === 'GSM-7' ? gsm7(text) : ucs2(text);
  if (wire === undefined) return 'the text holds a character outside the GSM-7 alphabet';
  if (wire.parts.length > MAX_PARTS) return `the text takes more than ${MAX_PARTS} parts`;
  return wire;
}

/**
 * Returns the short_message of part `index` (counted from 0) of `total`. It begins with the 8-bit concatenation header,
 * which esm_class 0x40 announces.
 */
export function withConcatenation(octets: Buffer, reference: number, index: number, total: number): Buffer {
  return Buffer.concat([Buffer.from([0x05, 0x00, 0x03, reference, total, index + 1]), octets]);
}

function gsm7(text: string): WireText | undefined {
  const octets = encodeGsm7(text);
  if (octets === undefined) return undefined;
  const parts = octets.length <= GSM7_ALONE ? [octets] : splitGsm7(octets, GSM7_PART);
  return { dataCoding: DATA_CODING_DEFAULT, parts };
}

function ucs2(text: string): WireText {
  const pieces = text.length <= UCS2_ALONE ? [text] : splitCodeUnits(text, UCS2_PART);
  return {
    dataCoding: DATA_CODING_UCS2,
    parts: pieces.map((piece) => Buffer.from(piece, 'utf16le').swap16()),
  };
}

function splitCodeUnits(text: string, max: number): string[] {
  const pieces: string[] = [];
  let start = 0;
  while (start < text.length) {
    let end = Math.min(start + max, text.length);
    if (end < text.length && isPair(text.charCodeAt(end - 1), text.charCodeAt(end))) end--;
    pieces.push(text.slice(start, end));
    start = end;
  }
  return pieces;
}

function isPair(high: number, low: number): boolean {
  return (high & 0xfc00) === 0xd800 && (low & 0xfc00) === 0xdc00;
}
