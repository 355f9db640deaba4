/**
 * Joins the texts of received submit_sm PDUs. It decodes with the smpp package's alphabet, to be independent of the
 * gateway's.
 */
import { smpp } from '../../src/channels/sms/smpp/pdu.ts';
import type { ReceivedSubmit } from './smsc-pdus.ts';

export interface ReceivedMessage {
  readonly from: string;
  readonly to: string;
  readonly text: string;
  readonly dataCoding: number;
  /** The sids of the parts, in the order of the text. */
  readonly sids: readonly string[];
}

interface Group {
  readonly total: number;
  readonly parts: Map<number, ReceivedSubmit>;
}

/**
 * Returns the complete messages in `submits`, in the order in which their first parts arrived. Leaves out incomplete
 * messages.
 */
export function assemble(submits: readonly ReceivedSubmit[]): ReceivedMessage[] {
  const groups: Group[] = [];
  const open = new Map<string, Group>();
  for (const submit of submits) {
    const header = concatenation(submit);
    const key = `${submit.source.address} ${submit.destination.address} ${header.reference}`;
    let group = open.get(key);
    // Reference numbers repeat after 256 messages. So a complete group is not continued.
    if (group === undefined || header.total === 1 || group.parts.size === group.total) {
      group = { total: header.total, parts: new Map() };
      open.set(key, group);
      groups.push(group);
    }
    group.parts.set(header.part, submit);
  }
  return groups.filter(({ parts, total }) => parts.size === total).map(toMessage);
}

function toMessage({ parts }: Group): ReceivedMessage {
  const ordered = [...parts].sort(([a], [b]) => a - b).map(([, submit]) => submit);
  const first = ordered[0]!;
  return {
    from: first.source.address,
    to: first.destination.address,
    dataCoding: first.dataCoding,
    // Decode each part alone. Then an escape sequence or surrogate pair that is split between parts becomes visible.
    text: ordered.map((submit) => decode(textOctets(submit), submit.dataCoding)).join(''),
    sids: ordered.map(({ sid }) => sid),
  };
}

function concatenation(submit: ReceivedSubmit): { reference: number; total: number; part: number } {
  const [length, element, size, reference, total, part] = submit.octets;
  if ((submit.esmClass & 0x40) === 0) return { reference: -1, total: 1, part: 1 };
  if (length !== 5 || element !== 0 || size !== 3) throw new Error('not an 8-bit concatenation header');
  return { reference: reference!, total: total!, part: part! };
}

function textOctets({ octets, esmClass }: ReceivedSubmit): Buffer {
  return (esmClass & 0x40) === 0 ? octets : octets.subarray(octets[0]! + 1);
}

function decode(octets: Buffer, dataCoding: number): string {
  if (dataCoding === 0) return smpp.gsmCoder.decode(octets, 0);
  const text = Buffer.from(octets).swap16().toString('utf16le');
  if (!text.isWellFormed()) throw new Error('a surrogate pair was cut in two');
  return text;
}
