import { Batcher } from '../batcher.ts';
import { type OpenJob, recordParts } from '../open-job.ts';
import type { NewJob } from '../ports/job-queue.ts';
import type { SubmitOutcome } from '../ports/provider.ts';
import type { RecipientMove, TimelineNote, UnitOfWork } from '../ports/stores.ts';
import type { Ids } from '../ports/system.ts';
import { announceMessages } from './announce-messages.ts';
import { applyMoves } from './apply-moves.ts';
import { applyReports } from './delivery-reports.ts';
import type { Message, OutgoingMessage } from './message.ts';
import { retryDelayMs } from './submit-retries.ts';

/** What came of handing one recipient over. */
export interface SubmitResult {
  readonly message: Pick<OutgoingMessage, 'id' | 'channel' | 'expiresAt'>;
  readonly position: number;
  readonly group: string;
  /** The provider that answered. */
  readonly provider: string;
  /** Hand-overs before this one. */
  readonly attempt: number;
  readonly outcome: SubmitOutcome;
  /** Nothing of it has left, in this try or before: it may be canceled until the next one (decision 18). */
  readonly mayBeFreed: boolean;
  readonly at: Date;
  /** The job that this is a part of. */
  readonly job: OpenJob;
}

/** Records outcomes of hand-overs, many in one transaction: states, sids, refunds, events and the next tries. */
export class SubmitOutcomes {
  readonly #uow: UnitOfWork;
  readonly #ids: Ids;
  readonly #batches: Batcher<SubmitResult, undefined>;

  constructor(uow: UnitOfWork, ids: Ids) {
    this.#uow = uow;
    this.#ids = ids;
    this.#batches = new Batcher((results) => this.#record(results), { maxWeight: 500, isolate: () => true });
  }

  /** Resolves once the outcome is stored. */
  record(result: SubmitResult): Promise<void> {
    return this.#batches.add(result);
  }

  async #record(results: readonly SubmitResult[]): Promise<undefined[]> {
    const jobs = results.map((result) => result.job);
    await recordParts(this.#uow, jobs, async (tx) => {
      const steps = results.map(stepOf);
      const moves = steps.flatMap((step) => (step.kind === 'move' ? [step.move] : []));
      const messageIds = [...new Set(results.map(({ message }) => message.id))];
      const { messages, early } = await applyMoves(tx, this.#ids, messageIds, moves);
      const last = results.at(-1);
      if (early.length > 0 && last) await applyReports(tx, this.#ids, early, last.at);
      const retries = steps.flatMap((step) => (step.kind === 'retry' ? [step] : []));
      await tx.messages.note(retries.flatMap((retry) => retryNote(retry, messages)));
      const retried = retries.map(({ result }) => ({ ...result, messageId: result.message.id }));
      announceMessages(tx, messages, retried);
      await tx.messages.release(retried.filter((result) => result.mayBeFreed));
      await tx.jobs.enqueue(retryJobs(retries));
    });
    return results.map(() => undefined);
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
  const { message, position, provider, outcome, at } = result;
  const base = { messageId: message.id, position, from: 'pending' as const, at, provider };
  if (outcome.kind === 'accepted') {
    const sids = outcome.partSids ?? [outcome.sid];
    return { kind: 'move', move: { ...base, to: 'sent', sids, error: null } };
  }
  const fail = (code: string, reason: string): Step => ({
    kind: 'move',
    move: { ...base, to: 'failed', sids: [], error: { code, message: reason } },
  });
  if (outcome.kind === 'rejected') return fail(outcome.code, outcome.reason);
  const delayMs = Math.max(outcome.retryAfterMs ?? 0, retryDelayMs(message.channel, result.attempt));
  const next = new Date(at.getTime() + delayMs);
  if (next >= message.expiresAt) {
    return fail('expired', `No carrier took it before its deadline. Last answer: ${outcome.reason}`);
  }
  return { kind: 'retry', result, reason: outcome.reason, at: next };
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
    (retry) => `${retry.result.group} ${retry.result.attempt} ${Math.ceil(retry.at.getTime() / 1000)}`,
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
      group: first.result.group,
      data: { messageIds: Object.keys(positions), positions, attempt: first.result.attempt + 1 },
      startAfter: new Date(Math.max(...group.map((retry) => retry.at.getTime()))),
    };
  });
}
