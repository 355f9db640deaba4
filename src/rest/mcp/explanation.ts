/** What became of a message, in words for somebody who asks why. */

interface Recipient {
  readonly to: string;
  readonly status: string;
  readonly error: { readonly code: string; readonly message: string } | null;
}
/** The members of a message that an explanation needs. */
export interface ExplainedMessage {
  readonly status: string;
  readonly statusReason?: string | null;
  readonly scheduledFor?: string | null;
  readonly sandbox: boolean;
  readonly recipients: readonly Recipient[];
}

export interface Explanation {
  readonly summary: string;
  /** A line for each recipient that failed, 20 at most. */
  readonly failures: readonly string[];
  readonly whatToDo: string;
  /** Where the states are described. */
  readonly readMore: string;
}

const FAILURES_MAX = 20;
const ADVICE: Readonly<Record<string, string>> = {
  expired: 'No carrier took it in time. Look at the health of the carriers, then send it again.',
  canceled: 'It was canceled and refunded. Send it again if it is wanted after all.',
  outcome_unknown: 'It may have left. Ask the recipient or the carrier before you send it again.',
  recipient_gone: 'The device was removed. Register it again before you send.',
};
const DEFAULT_ADVICE = 'Check the recipient. If the error is the carrier’s, its message says more.';

/** Explains the state of a message (R13, R14). */
export function explain(message: ExplainedMessage): Explanation {
  const failed = message.recipients.filter(({ status }) => status === 'failed');
  const codes = [...new Set(failed.map(({ error }) => error?.code ?? ''))];
  const advice = codes.map((code) => ADVICE[code] ?? DEFAULT_ADVICE);
  return {
    summary: summaryOf(message, failed.length),
    failures: failed
      .slice(0, FAILURES_MAX)
      .map(({ to, error }) => `${to}: ${error ? `${error.code}, ${error.message}` : 'no reason was given'}`),
    whatToDo: failed.length > 0 ? [...new Set(advice)].join(' ') : whatToDo(message),
    readMore: '/docs/states',
  };
}

function summaryOf(
  { status, statusReason, scheduledFor, sandbox, recipients }: ExplainedMessage,
  failed: number,
) {
  if (sandbox) return 'A sandbox message: it was checked and recorded, and nothing was sent or charged.';
  if (status === 'pending' && scheduledFor) return `It is to leave at ${scheduledFor}.`;
  if (status === 'pending') return 'It is stored and charged, and no carrier has taken all of it yet.';
  if (status === 'failed') return 'It failed for every recipient.';
  const some = failed > 0 ? ` ${failed} of ${recipients.length} recipients failed.` : '';
  if (status === 'delivered') return `Delivery was reported.${some}`;
  const unconfirmed = statusReason === 'delivery_unconfirmed' ? ' No delivery report came in 72 hours.' : '';
  return `The carrier or provider accepted it.${unconfirmed}${some}`;
}

function whatToDo({ status, scheduledFor, sandbox }: ExplainedMessage): string {
  if (sandbox) return 'Send it with a production key when it is to arrive.';
  if (status === 'pending') {
    return scheduledFor ? 'Wait, or cancel it.' : 'Wait: every message ends, after 24 hours at the latest.';
  }
  return status === 'delivered' ? 'Nothing.' : 'Wait for a delivery report. Some networks send none.';
}
