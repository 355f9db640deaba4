import type { HeldJob } from '../ports/job-queue.ts';
import type { Provider, Submission, SubmitOutcome } from '../ports/provider.ts';
import type { Routing } from '../ports/routing.ts';
import type { Stores } from '../ports/stores.ts';
import type { Clock } from '../ports/system.ts';
import { rulesOf } from './channels/channel-rules.ts';
import type { Message, Recipient } from './message.ts';
import type { SubmitOutcomes } from './submit-outcomes.ts';

/** Thrown when the process drains before all of a job was handed over: the rest goes back to the queue. */
export class JobInterrupted extends Error {
  override readonly name = 'JobInterrupted';
}

/**
 * Hands a job's messages to their carriers. Replayable: only recipients that are still pending are handed over,
 * so a job that comes back after a crash goes on where the records end.
 */
export class SubmitMessages {
  readonly #stores: Pick<Stores, 'messages'>;
  readonly #routing: Routing;
  readonly #outcomes: SubmitOutcomes;
  readonly #clock: Clock;

  constructor(stores: Pick<Stores, 'messages'>, routing: Routing, outcomes: SubmitOutcomes, clock: Clock) {
    this.#stores = stores;
    this.#routing = routing;
    this.#outcomes = outcomes;
    this.#clock = clock;
  }

  /** Resolves when every recipient's outcome is stored; throws `JobInterrupted` when `signal` came first. */
  async handle(job: HeldJob<'submit'>, signal: AbortSignal): Promise<void> {
    const pending = await this.#stores.messages.pending(job.data.messageIds);
    const work = pending.flatMap(({ message, recipients }) => {
      const positions = job.data.positions?.[message.id];
      return recipients
        .filter((recipient) => !positions || positions.includes(recipient.position))
        .map((recipient) => this.#submit(job, message, recipient, signal));
    });
    const results = await Promise.allSettled(work);
    const failure = results.find((result) => result.status === 'rejected');
    if (failure) throw failure.reason;
  }

  async #submit(job: HeldJob<'submit'>, message: Message, recipient: Recipient, signal: AbortSignal) {
    const { provider, outcome } = await this.#tryProviders(job, message, recipient, signal);
    if (outcome.kind === 'unavailable' && signal.aborted) throw new JobInterrupted('the process is draining');
    await this.#outcomes.record({
      messageId: message.id,
      position: recipient.position,
      group: job.group,
      provider,
      attempt: job.data.attempt,
      outcome,
      at: this.#clock.now(),
    });
  }

  /** The first answer that is not `unavailable`, or the last one that is. */
  async #tryProviders(
    job: HeldJob<'submit'>,
    message: Message,
    recipient: Recipient,
    signal: AbortSignal,
  ): Promise<{ provider: string; outcome: SubmitOutcome }> {
    // Routes may have changed since the message was accepted.
    const route = this.#routing.providers(job.group).length
      ? job.group
      : this.#routing.routeFor(message.channel, recipient.address);
    const providers: readonly Provider<Submission>[] = route ? this.#routing.providers(route) : [];
    let answer: { provider: string; outcome: SubmitOutcome } = {
      provider: 'none',
      outcome: { kind: 'unavailable', reason: `no provider is configured for ${message.channel}` },
    };
    for (const provider of providers) {
      const submission = rulesOf(message.channel).submission(message, recipient, job.data.attempt);
      answer = { provider: provider.name, outcome: await provider.submit(submission, signal) };
      if (answer.outcome.kind !== 'unavailable' || signal.aborted) return answer;
    }
    return answer;
  }
}
