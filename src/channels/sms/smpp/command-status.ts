/** SMPP command_status values: their names, texts, and what they mean for a submission. */
import { smpp } from './pdu.ts';

export const ESME_ROK = 0x00;
export const ESME_RINVCMDLEN = 0x02;
export const ESME_RINVCMDID = 0x03;
export const ESME_RINVBNDSTS = 0x04;
export const ESME_RMSGQFUL = 0x14;
export const ESME_RX_T_APPN = 0x64;

const BAD_CREDENTIALS = new Set([0x0d, 0x0e, 0x0f, 0x53]);
const THROTTLING = new Set([ESME_RMSGQFUL, 0x58]);
/**
 * Statuses after which a retry may succeed: wrong bind state, system error, temporary error of the receiver, unknown
 * error, service type unavailable.
 */
const TEMPORARY = new Set([ESME_RINVBNDSTS, 0x08, ESME_RX_T_APPN, 0xff, 0x0102]);

const WORDS: Readonly<Record<number, string>> = {
  1: 'message length is invalid',
  2: 'command length is invalid',
  3: 'command is not known',
  4: 'command does not fit the bind state',
  5: 'already bound',
  6: 'priority flag is invalid',
  7: 'registered delivery flag is invalid',
  8: 'system error',
  10: 'source address is invalid',
  11: 'destination address is invalid',
  13: 'bind failed',
  14: 'password is invalid',
  15: 'system id is invalid',
  20: 'message queue is full',
  21: 'service type is invalid',
  67: 'esm_class is invalid',
  69: 'submit failed',
  72: 'source TON is invalid',
  73: 'source NPI is invalid',
  80: 'destination TON is invalid',
  81: 'destination NPI is invalid',
  83: 'system type is invalid',
  88: 'throttled: too many messages',
  97: 'scheduled time is invalid',
  98: 'validity period is invalid',
  100: 'temporary error of the receiving application',
  101: 'permanent error of the receiving application',
  102: 'the receiving application refuses the message',
  254: 'delivery failure',
  255: 'unknown error',
  257: 'prohibited',
  258: 'service type is unavailable',
  260: 'data coding is invalid',
};

const NAMES = new Map(Object.entries(smpp.errors).map(([name, status]) => [status, name]));

/** Returns the name of a status: `ESME_RINVDSTADR`, or `0x00000400` for a carrier's own status. */
export function statusName(status: number): string {
  return NAMES.get(status) ?? `0x${status.toString(16).padStart(8, '0')}`;
}

/** Returns name and text of a status: `ESME_RINVDSTADR (destination address is invalid)`. */
export function statusText(status: number): string {
  const words = WORDS[status] ?? (NAMES.has(status) ? undefined : "the carrier's own code");
  return words === undefined ? statusName(status) : `${statusName(status)} (${words})`;
}

/** True if the answer to a bind means that these credentials will never work. */
export function isBadCredentials(status: number): boolean {
  return BAD_CREDENTIALS.has(status);
}

/**
 * Returns what a status other than ESME_ROK means for a submission. A status that SMPP does not define counts as
 * permanent. Carriers use such statuses for barred senders and empty accounts. No retry helps in these cases.
 */
export function refusalKind(status: number): 'throttled' | 'temporary' | 'permanent' {
  if (THROTTLING.has(status)) return 'throttled';
  return TEMPORARY.has(status) ? 'temporary' : 'permanent';
}
