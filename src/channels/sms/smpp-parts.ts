/** **Part**: one submit_sm of a message. A long message is cut and each part begins with a user data header (UDH). */
import type { SmsEncoding } from '../../domain/messages/sms-text.ts';
import { encodeGsm7, splitGsm7 } from './gsm7-octets.ts';

const GSM7_ALONE = 160;
const GSM7_PART = 153;
const UCS2_ALONE = 70;
const UCS2_PART = 67;
const MAX_PARTS = 255;
const DATA_CODING_DEFAULT = 0;
const DATA_CODING_UCS2 = 8;

export interface WireText {
  readonly dataCoding: number;
  /** The octets of each part without UDH, in order. */
  readonly parts: readonly Buffer[];
}

/**
 * The text as its parts' octets: GSM-7 unpacked at 160, or 153 septets a part; UCS-2 big-endian at 70, or
 * 67 code units a part; neither an extension character nor a surrogate pair is cut in two. A string says
 * why the text cannot be sent.
 */
export function toWireText(text: string, encoding: SmsEncoding): WireText | string {
  const wire = encoding === 'GSM-7' ? gsm7(text) : ucs2(text);
  if (wire === undefined) return 'the text holds a character outside the GSM-7 alphabet';
  if (wire.parts.length > MAX_PARTS) return `the text takes more than ${MAX_PARTS} parts`;
  return wire;
}

/** `short_message` of part `index` (from 0) of `total`: with the 8-bit concatenation header, whose use esm_class 0x40 announces. */
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
