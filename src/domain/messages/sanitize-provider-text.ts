/**
 * Limits texts of providers to what can be stored. A text that cannot be stored would make its message be submitted
 * again and again, or its report be repeated.
 */
import type { DeliveryReport, SubmitOutcome } from '../ports/provider.ts';
import { storable } from '../text.ts';

/** UTF-16 code units. Index rows have room for 2,700 bytes. */
const MAX_SID = 500;
const MAX_CODE = 100;
const MAX_REASON = 1_000;

const codeOf = (code: string) => storable(code, MAX_CODE);
const reasonOf = (reason: string) => storable(reason, MAX_REASON);

/** A provider's id of a message. Equal ids stay equal. */
export function sanitizeSid(sid: string): string {
  return storable(sid, MAX_SID);
}

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

/** The report's sid still equals that of its outcome. */
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
