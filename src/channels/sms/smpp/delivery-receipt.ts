/**
 * Reads the requests that a carrier sends without being asked (`deliver_sm`, `data_sm`). A **receipt** is a delivery
 * report for one part of a message. **MO** is a message from a subscriber. A PDU counts as a receipt only because of
 * its esm_class or TLVs, which a subscriber cannot set. The text does not count: anybody could send a text that looks
 * like a receipt.
 */
import type { PduFields } from 'smpp';
import type { DeliveryReport, InboundText } from '../../../domain/ports/provider.ts';
import { decodeGsm7 } from './gsm7.ts';

export type Incoming =
  | { readonly kind: 'report'; readonly report: DeliveryReport }
  /** A receipt without a final state. */
  | { readonly kind: 'undecided'; readonly stat: string }
  /** A receipt without a message id or a state. */
  | { readonly kind: 'unreadable' }
  /** An MO. Without `message` if the PDU has only a part of the text. */
  | { readonly kind: 'mo'; readonly message?: InboundText };

const ESM_CLASS_TYPE = 0x3c;
const ESM_CLASS_RECEIPT = 0x04;
const ESM_CLASS_INTERMEDIATE = 0x20;
const ESM_CLASS_UDH = 0x40;
const DATA_CODING_DEFAULT = 0;
const DATA_CODING_UCS2 = 8;
const TON_INTERNATIONAL = 1;

const STATES: Readonly<Record<number, string>> = {
  0: 'SCHEDULED',
  1: 'ENROUTE',
  2: 'DELIVRD',
  3: 'EXPIRED',
  4: 'DELETED',
  5: 'UNDELIV',
  6: 'ACCEPTD',
  7: 'UNKNOWN',
  8: 'REJECTD',
  9: 'SKIPPED',
};

/** Compared as prefixes, because carriers write REJECTD, REJECTED or UNDELIVERABLE. */
const FAILURES: ReadonlyArray<readonly [string, string]> = [
  ['UNDELIV', 'the message could not be delivered'],
  ['EXPIRED', 'the message expired before it could be delivered'],
  ['DELETED', 'the message was deleted by the carrier'],
  ['REJECT', 'the message was rejected by the network'],
];

const DELIVERED = /^DELIV(?:RD|ERED)/;

const ID_FIELD = fieldPattern('id');
const STAT_FIELD = fieldPattern('stat(?:us)?');
const ERR_FIELD = fieldPattern('err(?:or)?');
const TEXT_FIELD = /(?:^|[\s,;])text:/i;

/**
 * Reads an incoming PDU. The fields of its text may be in any order and case, and may be missing. The TLVs
 * receipted_message_id and message_state take precedence over the text. The sid is returned as written, because
 * matching knows its different forms (R15). The `code` of a failure is made of stat and err: `UNDELIV/011`.
 */
export function readIncoming(pdu: PduFields): Incoming {
  const type = (pdu.esm_class ?? 0) & ESM_CLASS_TYPE;
  const isReceipt =
    type === ESM_CLASS_RECEIPT || type === ESM_CLASS_INTERMEDIATE || pdu.receipted_message_id !== undefined;
  if (!isReceipt) return isPart(pdu) ? { kind: 'mo' } : { kind: 'mo', message: inboundOf(pdu) };

  const text = readText(pdu);
  const sid = pdu.receipted_message_id || field(text, ID_FIELD);
  const stat = STATES[pdu.message_state ?? -1] ?? field(text, STAT_FIELD)?.toUpperCase();
  if (!sid || !stat) return { kind: 'unreadable' };

  const to = /^\+?\d+$/.test(pdu.source_addr ?? '') ? { to: pdu.source_addr } : {};
  if (DELIVERED.test(stat)) {
    return { kind: 'report', report: { sid, ...to, status: 'delivered' } };
  }
  const failure = FAILURES.find(([prefix]) => stat.startsWith(prefix));
  if (failure === undefined) return { kind: 'undecided', stat: stat.slice(0, 20) };
  const err = field(text, ERR_FIELD) ?? networkError(pdu.network_error_code);
  const code = err === undefined || /^0+$/.test(err) ? stat : `${stat}/${err}`;
  return { kind: 'report', report: { sid, ...to, status: 'failed', code, reason: failure[1] } };
}

function readText(pdu: PduFields): string {
  const body = bodyOf(pdu);
  if (pdu.data_coding !== DATA_CODING_UCS2) return body.toString('latin1').replaceAll('\0', ' ');
  return Buffer.from(body.subarray(0, body.length & ~1))
    .swap16()
    .toString('utf16le');
}

/** Returns the text octets, without the user data header (UDH). */
function bodyOf(pdu: PduFields): Buffer {
  const octets = octetsOf(pdu);
  return octets.subarray(hasHeader(pdu) && octets.length > 0 ? octets[0]! + 1 : 0);
}

function octetsOf({ short_message: short = Buffer.alloc(0), message_payload: payload }: PduFields): Buffer {
  return short.length > 0 ? short : (payload ?? short);
}

function hasHeader({ esm_class: esmClass = 0 }: PduFields): boolean {
  return (esmClass & ESM_CLASS_UDH) !== 0;
}

/** True if the text continues in other PDUs: by a UDH for concatenation (0x00, 0x08), or by a TLV. */
function isPart(pdu: PduFields): boolean {
  if ((pdu.sar_total_segments ?? 1) > 1) return true;
  if (!hasHeader(pdu)) return false;
  const octets = octetsOf(pdu);
  const end = Math.min((octets[0] ?? 0) + 1, octets.length);
  for (let at = 1; at + 1 < end; at += 2 + octets[at + 1]!) {
    if (octets[at] === 0x00 || octets[at] === 0x08) return true;
  }
  return false;
}

function inboundOf(pdu: PduFields): InboundText {
  const sender = pdu.source_addr ?? '';
  const isInternational = pdu.source_addr_ton === TON_INTERNATIONAL && /^\d/.test(sender);
  const body = bodyOf(pdu);
  const isGsm7 = (pdu.data_coding ?? 0) === DATA_CODING_DEFAULT && body.every((octet) => octet < 0x80);
  return {
    sender: isInternational ? `+${sender}` : sender,
    to: pdu.destination_addr ?? '',
    text: isGsm7 ? decodeGsm7(body) : readText(pdu),
  };
}

function field(text: string, pattern: RegExp): string | undefined {
  // The text field repeats the message, which may itself contain "stat:". So first search the part before it.
  const end = TEXT_FIELD.exec(text)?.index ?? text.length;
  const found = pattern.exec(text.slice(0, end)) ?? pattern.exec(text.slice(end));
  return found?.[1] ?? found?.[2];
}

function fieldPattern(name: string): RegExp {
  // Finds the value of a field. If a field is empty ("id: sub:001"), the name of the next field must not be taken as
  // its value.
  return new RegExp(`(?:^|[\\s,;])${name}:(?:([^\\s,;]+)|\\s+([^\\s:,;]+)(?=[\\s,;]|$))`, 'i');
}

/** Reads network_error_code: the first octet is the type of network, the other two are its error code. */
function networkError(tlv: Buffer | undefined): string | undefined {
  return tlv?.length === 3 ? String(tlv.readUInt16BE(1)).padStart(3, '0') : undefined;
}
