/** PDUs of the SMSC simulator: the record of a received PDU, and the reports that the simulator sends. */
import type { Pdu, PduFields } from 'smpp';

export interface Address {
  readonly ton: number;
  readonly npi: number;
  readonly address: string;
}

export interface ReceivedSubmit {
  /** The number of the PDU in order of arrival. The first is 0. */
  readonly index: number;
  readonly source: Address;
  readonly destination: Address;
  readonly esmClass: number;
  readonly dataCoding: number;
  readonly registeredDelivery: number;
  readonly validityPeriod: string;
  /** The bytes of short_message as received, including the user data header. */
  readonly octets: Buffer;
  /** The message_id of the answer, or of the answer that was not sent. */
  readonly sid: string;
  /** The number of the connection. The first is 1. */
  readonly connection: number;
}

export interface ReportContent {
  /** The format of the report. `payload` is the text format in message_payload instead of short_message. */
  readonly form: 'text' | 'payload' | 'tlv';
  /** The status in the words of the text format: UNDELIV, … Default: DELIVRD. */
  readonly stat?: string;
  readonly err?: string;
}

export interface ReportPlan extends ReportContent {
  /** Says whether the report is sent before the submit_sm_resp or after it. */
  readonly when: 'before' | 'after';
  readonly delayMs?: number;
}

const STATES: Readonly<Record<string, number>> = {
  ENROUTE: 1,
  DELIVRD: 2,
  EXPIRED: 3,
  DELETED: 4,
  UNDELIV: 5,
  ACCEPTD: 6,
  UNKNOWN: 7,
  REJECTD: 8,
};
const RECEIPT = 0x04;

/** Returns the recorded fields of a submit_sm. */
export function toSubmit(pdu: Pdu, index: number, connection: number, sid: string): ReceivedSubmit {
  return {
    index,
    connection,
    sid,
    source: { ton: pdu.source_addr_ton!, npi: pdu.source_addr_npi!, address: pdu.source_addr! },
    destination: { ton: pdu.dest_addr_ton!, npi: pdu.dest_addr_npi!, address: pdu.destination_addr! },
    esmClass: pdu.esm_class!,
    dataCoding: pdu.data_coding!,
    registeredDelivery: pdu.registered_delivery!,
    validityPeriod: pdu.validity_period!,
    octets: pdu.short_message!,
  };
}

/** Returns the fields of the deliver_sm that reports on a sid. */
export function reportFields(
  sid: string,
  to: string,
  from: string,
  { form, stat = 'DELIVRD', err = '000' }: ReportContent,
): PduFields {
  const addresses: PduFields = {
    source_addr_ton: 1,
    source_addr_npi: 1,
    source_addr: to,
    destination_addr: from,
    esm_class: RECEIPT,
  };
  if (form === 'tlv') {
    const error = Buffer.from([3, 0, 0]);
    error.writeUInt16BE(Number.parseInt(err, 10), 1);
    return {
      ...addresses,
      receipted_message_id: sid,
      message_state: STATES[stat] ?? 7,
      network_error_code: error,
    };
  }
  const dlvrd = stat === 'DELIVRD' ? '001' : '000';
  const text = `id:${sid} sub:001 dlvrd:${dlvrd} submit date:2611201200 done date:2611201201 stat:${stat} err:${err} text:`;
  const octets = Buffer.from(text, 'latin1');
  if (form === 'payload') return { ...addresses, short_message: Buffer.alloc(0), message_payload: octets };
  return { ...addresses, short_message: octets };
}
