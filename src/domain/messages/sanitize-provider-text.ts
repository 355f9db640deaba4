/**
 * What providers say of messages, as it is kept. A provider may say anything; what cannot be stored would have its
 * message handed over again and again, or its report repeated.
 */
import type { DeliveryReport, SubmitOutcome } from '../ports/provider.ts';
import { storable } from '../text.ts';

/** UTF-16 code units. A sid stands in indexes, whose rows have room for 2,700 bytes. */
const MAX_SID = 500;
const MAX_CODE = 100;
const MAX_REASON = 1_000;

const codeOf = (code: string) => storable(code, MAX_CODE);
const reasonOf = (reason: string) => storable(reason, MAX_REASON);

/** A provider's name for a message, or that of somebody's message to us: the same name stays the same. */
export function sanitizeSid(sid: string): string {
  return storable(sid, MAX_SID);
}

/** The outcome with texts that can be stored. */
export function sanitizeOutcome(outcome: SubmitOutcome): SubmitOutcome {
  switch (outcome.kind) {
    case 'accepted': {
      const { sid, partSids } = outcome;
      return { ...outcome, sid: sanitizeSid(sid), ...(partSids && { partSids: partSids.map(sanitizeSid) }) };
    }
    case 'rejected':
      return { ...outcome, code: codeOf(outcome.code), reason: reasonOf(outcome.reason) };
    case 'unavailable':
      return { ...outcome, reason: reasonOf(outcome.reason) };
  }
}

/** The report with texts that can be stored; its sid is still that of the outcome that it belongs to. */
export function sanitizeReport(report: DeliveryReport): DeliveryReport {
  const { sid, to, code, reason } = report;
  return {
    ...report,
    sid: sanitizeSid(sid),
    ...(to !== undefined && { to: storable(to, MAX_CODE) }),
    ...(code !== undefined && { code: codeOf(code) }),
    ...(reason !== undefined && { reason: reasonOf(reason) }),
  };
}
