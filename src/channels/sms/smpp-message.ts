/** From a submission to the submit_sm PDUs of its parts; no I/O. */
import type { PduFields } from 'smpp';
import type { SmsSubmission, SubmitOutcome } from '../../domain/ports/provider.ts';
import { destinationAddress, sourceAddress } from './smpp-address.ts';
import { toWireText, type WireText, withConcatenation } from './smpp-parts.ts';
import type { SmppSettings } from './smpp-settings.ts';

const ESM_CLASS_UDH = 0x40;
const FINAL_RECEIPT = 1;
const MAX_VALIDITY_MS = 48 * 3_600_000;
const MIN_VALIDITY_MS = 60_000;

export interface SmppMessage {
  readonly text: WireText;
  readonly fields: PduFields;
}

/** What all parts share, or `rejected` for what no carrier could take: bad addresses, a text outside its alphabet. */
export function toSmppMessage(
  submission: SmsSubmission,
  settings: SmppSettings,
  now: Date,
): SmppMessage | SubmitOutcome {
  const source = sourceAddress(submission.from, { ton: settings.sourceTon, npi: settings.sourceNpi });
  if (source === undefined) {
    return rejected('ESME_RINVSRCADR', 'the sender ID does not fit an SMPP source address');
  }
  const destination = destinationAddress(submission.to);
  if (destination === undefined) {
    return rejected('ESME_RINVDSTADR', 'the recipient is no phone number');
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

/** The submit_sm of part `index` (from 0). */
export function partFields({ fields, text }: SmppMessage, index: number, reference: number): PduFields {
  const octets = text.parts[index] ?? Buffer.alloc(0);
  const total = text.parts.length;
  return {
    ...fields,
    short_message: total > 1 ? withConcatenation(octets, reference, index, total) : octets,
  };
}

/**
 * SMPP absolute time in UTC, `YYMMDDhhmmsst00+`; empty (the carrier's own default) from 48 h ahead on, which
 * many carriers refuse. Never less than a minute ahead, lest a carrier whose clock is fast refuse the message.
 */
function validityPeriod(expiresAt: Date, now: Date): string {
  const aheadMs = expiresAt.getTime() - now.getTime();
  if (!(aheadMs < MAX_VALIDITY_MS)) return '';
  const until = new Date(now.getTime() + Math.max(aheadMs, MIN_VALIDITY_MS));
  const digits = until.toISOString().replace(/\D/g, '');
  return `${digits.slice(2, 15)}00+`;
}

function rejected(code: string, reason: string): SubmitOutcome {
  return { kind: 'rejected', code, reason };
}
