import type { Message, OutgoingMessage } from '../../domain/messages/message.ts';
import { announceMessages } from '../../domain/messages/message-events.ts';
import { sanitizeOutcome } from '../../domain/messages/sanitize-provider-text.ts';
import { retryDelayMs } from '../../domain/messages/submit-retries.ts';
import { transitionRecipients } from '../../domain/messages/transition-recipients.ts';
import type { NewJob } from '../../domain/ports/job-queue.ts';
import type { Logger } from '../../domain/ports/logger.ts';
import type { RecipientMove, TimelineNote } from '../../domain/ports/message-stores.ts';
import type { SubmitOutcome } from '../../domain/ports/provider.ts';
import type { Tx, UnitOfWork } from '../../domain/ports/stores.ts';
import type { Clock, Ids } from '../../domain/ports/system.ts';
import { Batcher } from '../../runtime/batcher.ts';
import { OutageLog } from '../../runtime/outage-log.ts';
import { type OpenJob, recordParts } from '../open-job.ts';
import { applyReports } from '../reports/delivery-reports.ts';

/** Between two tries to record outcomes while the database is away. */
const RECORD_PAUSE_MS = 250;
/** How long a process that stops goes on trying. */
const LAST_TRIES_MS = 10_000;

/** So many tries of a recipient are noted in its timeline, and then those that double their number. */
const NOTED_TRIES = 8;

/** What came of handing one recipient over. */
export interface SubmitResult {
  readonly message: Pick<OutgoingMessage, 'id' | 'channel' | 'expiresAt'>;
  readonly position: number;
  readonly routeKey: string;
  /** The provider that answered. */
  readonly provider: string;
  /** Hand-overs before this one. */
  readonly attempt: number;
  readonly outcome: SubmitOutcome;
  /**
   * Something of it may have left without an answer, before this try or in it. Where nothing has, it may be canceled until
   * the next try (R18), and is refunded at once where it fails.
   */
  readonly possiblySent: boolean;
  readonly at: Date;
  /** The job that this is a part of. */
  readonly job: OpenJob;
  /** Aborts when others may have the job. */
  readonly signal: AbortSignal;
}

/** Whoever has the job now tries its recipient: another try by the one who lost it would be one message more. */
export function leaseLost({ outcome, signal }: Pick<SubmitResult, 'outcome' | 'signal'>): boolean {
  return outcome.kind === 'unavailable' && signal.aborted;
}

interface OutcomesOptions {
  /** Whether an error says that the database is away, and not that what it was given is wrong. */
  readonly isFault: (error: unknown) => boolean;
  readonly logger: Logger;
}

/**
 * Records outcomes of hand-overs, many in one transaction: states, sids, refunds, events and the next tries. While the
 * database is away they are kept: a message whose fate is known must not be handed over again. They are no more than
 * what is under way, which the places of the jobs bound.
 */
export class SubmitOutcomes {
  readonly #uow: UnitOfWork;
  readonly #system: { readonly clock: Clock; readonly ids: Ids };
  readonly #options: OutcomesOptions;
  readonly #batches: Batcher<SubmitResult, undefined>;
  readonly #outage: OutageLog;
  /** When trying ends (performance.now, ms). */
  #triesUntil = Number.POSITIVE_INFINITY;

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
   * Resolves once the outcome is stored, or another try where it cannot be, or where it is for others to try (`leaseLost`);
   * rejects when the database does not come back.
   */
  record(result: SubmitResult): Promise<void> {
    return this.#batches.add(result);
  }

  /** The process stops: what cannot be recorded within `LAST_TRIES_MS` fails. */
  endSoon(): void {
    this.#triesUntil = performance.now() + LAST_TRIES_MS;
  }

  async #record(results: readonly SubmitResult[]): Promise<undefined[]> {
    try {
      await this.#persist(results, results.map(stepOf));
    } catch (error) {
      const [alone, ...others] = results;
      if (this.#options.isFault(error) || !alone || others.length > 0) throw error;
      const messageId = alone.message.id;
      this.#options.logger.error({ err: error, messageId }, 'an outcome cannot be recorded');
      await this.#persist(results, [laterStep(alone, 'what came of it could not be recorded', {})]);
    }
    return results.map(() => undefined);
  }

  /** Tries until the database is there. Steps that were recorded already, by a commit without an answer, change nothing. */
  async #persist(results: readonly SubmitResult[], steps: readonly Step[]): Promise<void> {
    for (;;) {
      try {
        // By now, which may be long after the hand-over.
        const isOwn = results.map((result) => !leaseLost(result));
        if (isOwn.includes(true)) {
          await this.#store(
            results.filter((_, index) => isOwn[index]),
            steps.filter((_, index) => isOwn[index]),
          );
        }
        this.#outage.worked();
        return;
      } catch (error) {
        if (!this.#options.isFault(error) || performance.now() >= this.#triesUntil) throw error;
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
      const { messages, early } = await transitionRecipients(tx, ids, messageIds, moves, clock.now());
      const last = results.at(-1);
      if (early.length > 0 && last) await applyReports(tx, ids, early, last.at);
      const retries = await postponed(
        tx,
        steps.filter((step) => step.kind === 'retry'),
      );
      await tx.messages.note(retries.filter(isNoted).flatMap((retry) => retryNote(retry, messages)));
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

/** What an outcome means for the recipient: a move, or another try while the message's deadline allows one. */
function stepOf(result: SubmitResult): Step {
  const outcome = sanitizeOutcome(result.outcome);
  switch (outcome.kind) {
    case 'accepted': {
      const sids = outcome.partSids ?? [outcome.sid];
      return { kind: 'move', move: { ...moveFrom(result), to: 'sent', sids, error: null } };
    }
    case 'rejected':
      return failure(result, outcome.code, outcome.reason);
    case 'unavailable':
      return laterStep(result, outcome.reason, outcome);
  }
}

/** Another try, not before `retryAfterMs`, or the end where that would come too late. */
function laterStep(
  result: SubmitResult,
  reason: string,
  { retryAfterMs = 0, definitelyNotSent = false }: { retryAfterMs?: number; definitelyNotSent?: boolean },
): Step {
  const { message, attempt, at } = result;
  const delayMs = Math.max(retryAfterMs, retryDelayMs(message.channel, attempt, !definitelyNotSent));
  const next = new Date(at.getTime() + delayMs);
  if (next < message.expiresAt) return { kind: 'retry', result, reason, at: next };
  return failure(result, 'expired', `No carrier took it before its deadline. Last answer: ${reason}`);
}

function failure(result: SubmitResult, code: string, reason: string): Step {
  const error = { code, message: reason };
  const { possiblySent } = result;
  return { kind: 'move', move: { ...moveFrom(result), to: 'failed', sids: [], error, possiblySent } };
}

function moveFrom({ message, position, at, provider }: SubmitResult) {
  return { messageId: message.id, position, from: 'pending' as const, at, provider };
}

/** Of the retries those that are to be: a recipient that is not pending any more needs none, and nobody needs two. */
async function postponed(tx: Tx, retries: readonly Retry[]): Promise<readonly Retry[]> {
  const keys = await tx.messages.postpone(
    retries.map(({ result }) => ({
      messageId: result.message.id,
      position: result.position,
      attempts: result.attempt + 1,
      isFree: !result.possiblySent,
    })),
  );
  const known = new Set(keys.map(({ messageId, position }) => `${messageId} ${position}`));
  return retries.filter(({ result }) => known.has(`${result.message.id} ${result.position}`));
}

/**
 * A carrier that is away for a day has each recipient put off some 290 times: all of them in the timelines would be more
 * than anybody can read, and than a lookup of a message to a thousand can hold.
 */
function isNoted({ result: { attempt } }: Retry): boolean {
  return attempt < NOTED_TRIES || Number.isInteger(Math.log2(attempt));
}

function retryNote(retry: Retry, messages: ReadonlyMap<string, Message>): TimelineNote[] {
  const { position, at } = retry.result;
  const messageId = retry.result.message.id;
  const message = messages.get(messageId);
  if (!message) return [];
  const detail = `Not taken yet: ${retry.reason}. Next try at ${retry.at.toISOString()}.`;
  return [{ accountId: message.accountId, messageId, position, at, status: 'pending', detail }];
}

/** One job for all that is due at the same second on the same route. */
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
