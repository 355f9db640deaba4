/**
 * Limits texts from providers, so that they can be stored. If storing a text failed, the message would be submitted
 * again and again, or the provider would send its report again and again.
 */
import type { DeliveryReport, SubmitOutcome } from '../ports/provider.ts';
import { storable } from '../text.ts';

/** Longest texts in UTF-16 code units. A sid is in an index, and a row of the index has room for 2,700 bytes. */
const MAX_SID = 500;
const MAX_CODE = 100;
const MAX_REASON = 1_000;

const codeOf = (code: string) => storable(code, MAX_CODE);
const reasonOf = (reason: string) => storable(reason, MAX_REASON);

/** Makes a provider's message id storable. Equal ids stay equal. */
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

/**
 * Makes a report storable. Its sid is changed in the same way as the sid of the submission's outcome, so both stay
 * equal.
 */
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
