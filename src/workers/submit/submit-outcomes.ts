import type { Message, OutgoingMessage } from '../../domain/messages/message.ts';
import { announceMessages } from '../../domain/messages/message-events.ts';
import { sanitizeOutcome } from '../../domain/messages/sanitize-provider-text.ts';
import { retryDelayMs } from '../../domain/messages/submit-retries.ts';
import { transitionRecipients } from '../../domain/messages/transition-recipients.ts';
import type { NewJob } from '../../domain/ports/job-queue.ts';
import type { Logger } from '../../domain/ports/logger.ts';
import type { RecipientMove, TimelineNote } from '../../domain/ports/message-stores.ts';
import type { DeliveryReport, SubmitOutcome } from '../../domain/ports/provider.ts';
import type { Tx, UnitOfWork } from '../../domain/ports/stores.ts';
import type { Clock, Ids } from '../../domain/ports/system.ts';
import { leftOutNote } from '../../domain/suppressions/late-suppressions.ts';
import { Batcher } from '../../runtime/batcher.ts';
import { OutageLog } from '../../runtime/outage-log.ts';
import { type OpenJob, recordParts } from '../open-job.ts';
import { applyReports, receivedAtOf } from '../reports/delivery-reports.ts';

/** Pause in ms between attempts to record outcomes while the database is unreachable. */
const RECORD_PAUSE_MS = 250;
/** How long a stopping process tries to record outcomes, in ms. */
const STOP_TIMEOUT_MS = 10_000;

/**
 * A recipient gets a timeline note for each of its first attempts, up to this number. Later attempts get a note only
 * when their number has doubled.
 */
const NOTED_ATTEMPTS = 8;

/** The outcome of one submission. */
export interface SubmitResult {
  readonly message: Pick<OutgoingMessage, 'id' | 'channel' | 'expiresAt'>;
  readonly position: number;
  readonly routeKey: string;
  /** The provider that gave the outcome. */
  readonly provider: string;
  /** Number of earlier submissions of the recipient. */
  readonly attempt: number;
  readonly outcome: SubmitOutcome;
  /** Set if no provider was asked, because quiet hours hold the recipient until this time (R386). */
  readonly heldUntil?: Date | undefined;
  /** Number of copies of an email that were left out because their recipients were suppressed (R558). */
  readonly copiesLeftOut?: number;
  /**
   * True if this attempt or an earlier one got no answer and may have sent the message. If false, the recipient can be
   * canceled until the next attempt (R18), and is refunded at once if it fails.
   */
  readonly possiblySent: boolean;
  readonly at: Date;
  /** The job to which this submission belongs. */
  readonly job: OpenJob;
  /** Aborts when another process may have the job. */
  readonly signal: AbortSignal;
}

/**
 * True if the lease was lost before there was a final outcome. Another process retries the recipient, so a retry here
 * would duplicate the message.
 */
export function leaseLost({ outcome, signal }: Pick<SubmitResult, 'outcome' | 'signal'>): boolean {
  return outcome.kind === 'unavailable' && signal.aborted;
}

interface OutcomesOptions {
  /** True if an error means that the database is unreachable. False if it means that the outcome is invalid. */
  readonly isFault: (error: unknown) => boolean;
  readonly logger: Logger;
}

/**
 * Records outcomes of submissions, many in one transaction: status changes, sids, refunds, events and retries. While
 * the database is unreachable, it keeps them in memory, because a message must not be submitted twice. Their number is
 * bounded by the number of job slots.
 */
export class SubmitOutcomes {
  readonly #uow: UnitOfWork;
  readonly #system: { readonly clock: Clock; readonly ids: Ids };
  readonly #options: OutcomesOptions;
  readonly #batches: Batcher<SubmitResult, undefined>;
  readonly #outage: OutageLog;
  /** When to stop trying to record outcomes (performance.now, ms). */
  #deadline = Number.POSITIVE_INFINITY;

  constructor(uow: UnitOfWork, system: { clock: Clock; ids: Ids }, options: OutcomesOptions) {
    this.#uow = uow;
    this.#system = system;
    this.#options = options;
    this.#outage = new OutageLog(
      options.logger,
      'outcomes wait for the database',
      'outcomes are recorded again',
    );
    this.#batches = new Batcher((results) => this.#record(results), {
      maxWeight: 500,
      isolate: (error) => !options.isFault(error),
    });
  }

  /**
   * Resolves when the outcome is stored, or when the lease was lost. If the outcome itself cannot be stored, a retry is
   * stored instead. Rejects if the database stays unreachable while the process stops.
   */
  record(result: SubmitResult): Promise<void> {
    return this.#batches.add(result);
  }

  /** Call this when the process stops: outcomes that are not recorded within `STOP_TIMEOUT_MS` then fail. */
  giveUpSoon(): void {
    this.#deadline = performance.now() + STOP_TIMEOUT_MS;
  }

  async #record(results: readonly SubmitResult[]): Promise<undefined[]> {
    try {
      await this.#persist(results, results.map(stepAfter));
    } catch (error) {
      const [alone, ...others] = results;
      if (this.#options.isFault(error) || !alone || others.length > 0) throw error;
      const messageId = alone.message.id;
      this.#options.logger.error({ err: error, messageId }, 'an outcome cannot be recorded');
      await this.#persist(results, [retryStep(alone, 'its outcome could not be recorded', {})]);
    }
    return results.map(() => undefined);
  }

  /**
   * Stores the steps. Tries again until the database is reachable. A commit may have succeeded although its answer was
   * lost. Storing the same steps again then changes nothing.
   */
  async #persist(results: readonly SubmitResult[], steps: readonly Step[]): Promise<void> {
    for (;;) {
      try {
        // Check the leases again in each round, which may be long after the submission.
        const hasLease = results.map((result) => !leaseLost(result));
        if (hasLease.includes(true)) {
          await this.#store(
            results.filter((_, index) => hasLease[index]),
            steps
              .map((step, index) => underPresentLease(step, results[index]))
              .filter((_, index) => hasLease[index]),
          );
        }
        this.#outage.worked();
        return;
      } catch (error) {
        if (!this.#options.isFault(error) || performance.now() >= this.#deadline) throw error;
        this.#outage.failed(error);
        await new Promise((resolve) => setTimeout(resolve, RECORD_PAUSE_MS));
      }
    }
  }

  async #store(results: readonly SubmitResult[], steps: readonly Step[]): Promise<void> {
    const jobs = results.map((result) => result.job);
    await recordParts(this.#uow, jobs, async (tx) => {
      const moves = steps.flatMap((step) => (step.kind === 'move' ? [step.move] : []));
      const messageIds = [...new Set(results.map(({ message }) => message.id))];
      const { clock, ids } = this.#system;
      const { messages, done, early } = await transitionRecipients(tx, ids, messageIds, moves, clock.now());
      const last = results.at(-1);
      if (early.length > 0 && last) {
        // The outcome may have waited long for the database. Events still get the present time (see
        // transitionRecipients). The report counts from its arrival, but not before the message counts as sent.
        const receivedAt = receivedAtOf(early);
        const timeOf = (report: DeliveryReport) =>
          new Date(Math.max(receivedAt(report).getTime(), last.at.getTime()));
        // A report with another number waits from now on. The sids of other outcomes waited for the database, too.
        const reports = early.map(({ provider, report }) => ({ provider, report }));
        await applyReports(tx, ids, reports, clock.now(), timeOf);
      }
      const retries = await storeRetries(
        tx,
        steps.filter((step) => step.kind === 'retry'),
      );
      await tx.messages.note([
        ...retries.filter(isNoted).flatMap((retry) => retryNote(retry, messages)),
        ...steps.flatMap((step, index) => {
          const { copiesLeftOut = 0 } = results[index] ?? {};
          if (copiesLeftOut === 0 || step.kind !== 'move' || !done.has(step.move)) return [];
          return copiesNote(step.move, copiesLeftOut, messages);
        }),
      ]);
      announceMessages(
        tx,
        messages,
        retries.map(({ result }) => ({ messageId: result.message.id })),
      );
      await tx.jobs.enqueue(retryJobs(retries));
    });
  }
}

interface Retry {
  readonly kind: 'retry';
  readonly result: SubmitResult;
  readonly reason: string;
  readonly at: Date;
}
type Step = { readonly kind: 'move'; readonly move: RecipientMove } | Retry;

/** Returns what follows from an outcome: a change of status, or a retry if the message's deadline allows one. */
function stepAfter(result: SubmitResult): Step {
  const outcome = sanitizeOutcome(result.outcome);
  if (result.heldUntil) return holdStep(result, result.heldUntil);
  switch (outcome.kind) {
    case 'accepted': {
      const sids = outcome.partSids ?? [outcome.sid];
      return { kind: 'move', move: { ...moveFrom(result), to: 'sent', sids, error: null } };
    }
    case 'rejected':
      return failure(result, outcome.code, outcome.reason, outcome.addressUnknown);
    case 'unavailable':
      return retryStep(result, outcome.reason, outcome);
  }
}

/** Returns a retry at `retryAfterMs` or later. Returns a failure if the retry would be after the deadline. */
function retryStep(
  result: SubmitResult,
  reason: string,
  { retryAfterMs = 0, definitelyNotSent = false }: { retryAfterMs?: number; definitelyNotSent?: boolean },
): Step {
  const { message, attempt, at } = result;
  const delayMs = Math.max(retryAfterMs, retryDelayMs(message.channel, attempt, !definitelyNotSent));
  const next = new Date(at.getTime() + delayMs);
  if (next < message.expiresAt) return { kind: 'retry', result, reason, at: next };
  return failure(result, 'expired', `No carrier accepted it before its deadline. Last answer: ${reason}`);
}

/** Returns a retry at the end of the quiet hours. Returns a failure if that is after the deadline. */
function holdStep(result: SubmitResult, until: Date): Step {
  const reason = `Quiet hours of its number end at ${until.toISOString()}`;
  if (until < result.message.expiresAt) return { kind: 'retry', result, reason, at: until };
  return failure(result, 'expired', `${reason}, after its deadline.`);
}

function failure(result: SubmitResult, code: string, reason: string, addressUnknown?: true): Step {
  const error = { code, message: reason };
  const { possiblySent } = result;
  return {
    kind: 'move',
    move: { ...moveFrom(result), to: 'failed', sids: [], error, possiblySent, addressUnknown },
  };
}

/**
 * Returns the step, changed if the lease was lost. A refusal by the carrier is final, so it is recorded even then. But
 * another process may have submitted the message meanwhile, and the carrier may have accepted that submission. So the
 * refund must wait (R218).
 */
function underPresentLease(step: Step, result: SubmitResult | undefined): Step {
  if (step.kind !== 'move' || step.move.to !== 'failed' || !result?.signal.aborted) return step;
  return { kind: 'move', move: { ...step.move, possiblySent: true } };
}

function moveFrom({ message, position, at, provider }: SubmitResult) {
  return { messageId: message.id, position, from: 'pending' as const, at, provider };
}

/**
 * Stores the retries of recipients that are still pending and do not have the same retry yet. Returns the stored ones.
 */
async function storeRetries(tx: Tx, retries: readonly Retry[]): Promise<readonly Retry[]> {
  const keys = await tx.messages.postpone(
    retries.map(({ result }) => ({
      messageId: result.message.id,
      position: result.position,
      attempts: result.attempt + 1,
      isFree: !result.possiblySent,
      heldUntil: result.heldUntil ?? null,
    })),
  );
  const stored = new Set(keys.map(({ messageId, position }) => `${messageId} ${position}`));
  return retries.filter(({ result }) => stored.has(`${result.message.id} ${result.position}`));
}

/**
 * Decides whether an attempt gets a note in the timeline. In a day of outage, a recipient has about 290 attempts. With
 * a note for each, the timeline would be unreadable, and too large for a message to 1,000 recipients.
 */
function isNoted({ result: { attempt, heldUntil } }: Retry): boolean {
  // No provider was asked, and the recipient itself shows until when it is held.
  if (heldUntil) return false;
  return attempt < NOTED_ATTEMPTS || Number.isInteger(Math.log2(attempt));
}

function retryNote(retry: Retry, messages: ReadonlyMap<string, Message>): TimelineNote[] {
  const { position, at } = retry.result;
  const messageId = retry.result.message.id;
  const message = messages.get(messageId);
  if (!message) return [];
  const detail = `Unavailable: ${retry.reason}. Next try at ${retry.at.toISOString()}.`;
  return [{ accountId: message.accountId, messageId, position, at, status: 'pending', detail }];
}

function copiesNote(
  { messageId, position, at, to: status }: RecipientMove,
  copies: number,
  messages: ReadonlyMap<string, Message>,
): TimelineNote[] {
  const accountId = messages.get(messageId)?.accountId;
  if (accountId === undefined) return [];
  return [{ accountId, messageId, position, at, status, detail: leftOutNote(copies) }];
}

/** Returns one job for all retries on a route that are due in the same second. */
function retryJobs(retries: readonly Retry[]): NewJob<'submit'>[] {
  const groups = Map.groupBy(
    retries,
    (retry) => `${retry.result.routeKey} ${retry.result.attempt} ${Math.ceil(retry.at.getTime() / 1000)}`,
  );
  return [...groups.values()].map((group) => {
    const positions: Record<string, number[]> = {};
    for (const { result } of group) {
      positions[result.message.id] ??= [];
      positions[result.message.id]?.push(result.position);
    }
    const [first] = group as [Retry];
    return {
      queue: 'submit',
      routeKey: first.result.routeKey,
      data: { messageIds: Object.keys(positions), positions, attempt: first.result.attempt + 1 },
      startAfter: new Date(Math.max(...group.map((retry) => retry.at.getTime()))),
    };
  });
}
