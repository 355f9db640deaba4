import type { Logger } from '../domain/ports/logger.ts';
import type {
  AcceptedMessage,
  MeasuredAttempt,
  MeasuredMove,
  MeasuredSubmission,
  Measurements,
} from '../domain/ports/measurements.ts';
import { presentRequest } from '../runtime/request-scope.ts';

/**
 * Writes a log line for each step of each message, with its id, at the level `debug` (R347). A line names no recipient
 * and no content. It writes many lines, so use it only if the logger writes the level `debug`.
 */
export class MessageLog implements Measurements {
  readonly #logger: Logger;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  accepted({ id: messageId, channel, environment, recipients }: AcceptedMessage): void {
    const requestId = presentRequest()?.requestId;
    const fields = { messageId, requestId, channel, environment, recipients: recipients.length };
    this.#logger.debug(fields, 'message accepted');
  }

  submitted({ provider, submission, outcome, seconds }: MeasuredSubmission): void {
    const { messageId, position, attempt } = submission;
    const durationMs = Math.round(seconds * 1_000);
    const fields = { messageId, position, provider, attempt, outcome: outcome.kind, durationMs };
    this.#logger.debug(fields, 'recipient submitted');
  }

  moved(moves: readonly MeasuredMove[]): void {
    for (const { messageId, position, provider, status, reason } of moves)
      this.#logger.debug({ messageId, position, provider, status, reason }, 'recipient changed its status');
  }

  attempted({ messageId, deliveryId, attemptsBefore: attempt, result, seconds }: MeasuredAttempt): void {
    const fields = { messageId, deliveryId, attempt, result, durationMs: Math.round(seconds * 1_000) };
    this.#logger.debug(fields, 'webhook attempted');
  }

  refunded(): void {}

  reported(): void {}

  returned(): void {}

  balanceOf(): void {}

  /** The log has no traces, so there is no header. */
  traceparentOf(): undefined {
    return undefined;
  }
}
