import type { Device } from '../../domain/devices/device.ts';
import type { Directory } from '../../domain/messages/channels/channel-rules.ts';
import { rulesOf } from '../../domain/messages/channels/rules-of.ts';
import type { Outgoing, OutgoingMessage, OutgoingRecipient } from '../../domain/messages/message.ts';
import type { QuietHours } from '../../domain/messages/quiet-hours.ts';
import type { HeldJob } from '../../domain/ports/job-queue.ts';
import type { RecipientKey } from '../../domain/ports/message-stores.ts';
import type { OptOutTokens } from '../../domain/ports/opt-out-tokens.ts';
import type { Provider, Submission, SubmitOutcome } from '../../domain/ports/provider.ts';
import type { ReturnPaths } from '../../domain/ports/return-paths.ts';
import type { Routing } from '../../domain/ports/routing.ts';
import type { Stores, UnitOfWork } from '../../domain/ports/stores.ts';
import type { Clock } from '../../domain/ports/system.ts';
import type { WhatsAppNumbers } from '../../domain/senders/whatsapp-numbers.ts';
import type { LateGate, LateSuppressions } from '../../domain/suppressions/late-suppressions.ts';
import { Batcher } from '../../runtime/batcher.ts';
import type { OpenJob } from '../open-job.ts';
import { QuietSignals } from './quiet-signals.ts';
import { leaseLost, type SubmitOutcomes } from './submit-outcomes.ts';

/**
 * Thrown if the process stops or loses a job before all of the job was submitted. The job is then repeated for the
 * rest.
 */
export class JobInterrupted extends Error {
  override readonly name = 'JobInterrupted';

  constructor() {
    super('the process stops, or has lost the job');
  }
}

/**
 * How often, in ms, a job checks whether it can release its slot. It can if at most `MAX_RECIPIENTS_WAITING` recipients
 * have no answer yet.
 */
const RELEASE_SLOT_MS = 250;
const MAX_RECIPIENTS_WAITING = 20;
/** Largest number of devices in one query. */
const MAX_DEVICES = 500;
const RECIPIENT_REMOVED: SubmitOutcome = {
  kind: 'rejected',
  code: 'recipient_gone',
  reason: 'It was removed before the message could leave.',
};
const SUPPRESSED: ProviderAnswer = {
  provider: 'none',
  outcome: {
    kind: 'rejected',
    code: 'recipient_suppressed',
    reason: 'The recipient was suppressed, as by a STOP, after the message was accepted.',
  },
};

const NUMBER_TAKEN: ProviderAnswer = {
  provider: 'none',
  outcome: {
    kind: 'rejected',
    code: 'number_taken',
    reason: 'The WhatsApp number of the message was taken from the account after the message was accepted.',
  },
};

interface ProviderAnswer {
  readonly provider: string;
  readonly outcome: SubmitOutcome;
  /** Set if no provider was asked, because the recipient waits until this time (R386). */
  readonly heldUntil?: Date;
  /** True if an earlier provider gave no answer and may have sent the message. */
  readonly possiblySentBefore?: boolean;
  /** Number of copies of an email that were left out (R558). */
  readonly copiesLeftOut?: number;
}

/**
 * A recipient that this worker has claimed, so that nobody can cancel it. `neverSubmitted` means that certainly no
 * worker has submitted it before.
 */
interface ClaimedRecipient {
  readonly message: OutgoingMessage;
  readonly recipient: OutgoingRecipient;
  readonly neverSubmitted: boolean;
}

/**
 * Submits the messages of a job to their providers. A job may be repeated after a crash. It then continues after the
 * recorded outcomes: it submits only recipients that are pending and whose next attempt belongs to this job.
 *
 * Only claimed recipients are submitted, and a claimed recipient cannot be canceled (R18). A message that is due at
 * once is claimed when it is accepted. A message that is scheduled or held in quiet hours is claimed when it is due. An attempt that certainly sent
 * nothing releases the claim until the next attempt.
 */
export class SubmitMessages {
  readonly #stores: Pick<Stores, 'messages'>;
  readonly #directory: Directory;
  readonly #uow: UnitOfWork;
  readonly #routing: Routing;
  readonly #outcomes: SubmitOutcomes;
  readonly #clock: Clock;
  readonly #quietHours: QuietHours;
  readonly #suppressions: Pick<LateSuppressions, 'check'>;
  readonly #whatsAppNumbers: Pick<WhatsAppNumbers, 'mayUse'>;

  constructor(
    stores: Pick<Stores, 'messages' | 'devices'>,
    uow: UnitOfWork,
    routing: Routing,
    outcomes: SubmitOutcomes,
    clock: Clock,
    optOutTokens: OptOutTokens,
    quietHours: QuietHours,
    suppressions: Pick<LateSuppressions, 'check'>,
    whatsAppNumbers: Pick<WhatsAppNumbers, 'mayUse'>,
    returnPaths?: ReturnPaths,
  ) {
    this.#stores = stores;
    this.#directory = directoryOf(stores, optOutTokens, returnPaths);
    this.#uow = uow;
    this.#routing = routing;
    this.#outcomes = outcomes;
    this.#clock = clock;
    this.#quietHours = quietHours;
    this.#suppressions = suppressions;
    this.#whatsAppNumbers = whatsAppNumbers;
  }

  /** Resolves when the outcome of every recipient is stored. Throws `JobInterrupted` if `signal` aborts before that. */
  async handle(job: HeldJob<'submit'>, signal: AbortSignal): Promise<void> {
    const recipients = await this.#claim(job);
    const gateOf = await this.#suppressions.check(recipients);
    const openJob = { held: job, unrecorded: recipients.length };
    using quiet = new QuietSignals(this.#quietHours, this.#clock, signal);
    let unanswered = recipients.length;
    const submit = async (each: ClaimedRecipient) => {
      const gate = gateOf(each);
      const answer = gate.isSuppressed
        ? SUPPRESSED
        : await this.#tryProviders(job, each, gate, signal, quiet);
      const copiesLeftOut = gate.close(answer.outcome.kind === 'accepted' ? 'sent' : 'failed');
      unanswered -= 1;
      await this.#record(job, each, { ...answer, copiesLeftOut }, openJob, signal);
    };
    // Without this, a few messages without an answer would block all other messages of their carrier. A job that waits
    // for the database keeps its slot, because more jobs would only add to the database's load.
    const timer = setInterval(
      () => unanswered > 0 && unanswered <= MAX_RECIPIENTS_WAITING && job.releaseSlotWhileWaiting(),
      RELEASE_SLOT_MS,
    );
    const results = await Promise.allSettled(recipients.map(submit));
    clearInterval(timer);
    const failure = results.find((result) => result.status === 'rejected');
    if (failure) throw failure.reason;
  }

  async #claim(job: HeldJob<'submit'>): Promise<ClaimedRecipient[]> {
    const pending: readonly Outgoing[] =
      job.prefetched ?? (await this.#stores.messages.pending(job.data.messageIds, job.data.attempt));
    const all = pending.flatMap(({ message, recipients }) => {
      const positions = job.data.positions?.[message.id];
      return recipients
        .filter((recipient) => !positions || positions.includes(recipient.position))
        .map((recipient) => ({ message, recipient }));
    });
    const unclaimed = all.map(({ recipient }) => recipient).filter((recipient) => !recipient.isClaimed);
    const claimed = new Set(
      unclaimed.length === 0 ? [] : (await this.#uow.run((tx) => tx.messages.claim(unclaimed))).map(keyOf),
    );
    return all.flatMap(({ message, recipient }): ClaimedRecipient[] => {
      const isNewlyClaimed = claimed.has(keyOf(recipient));
      // The recipient was unclaimed when the job read it, and could not be claimed now. So it was canceled in between.
      if (!recipient.isClaimed && !isNewlyClaimed) return [];
      const isAtOnce = message.scheduledFor === null && recipient.heldUntil === null;
      const isFirstTry = job.data.attempt === 0 && isAtOnce && !job.isRepeat;
      return [{ message, recipient, neverSubmitted: isNewlyClaimed || isFirstTry }];
    });
  }

  async #record(
    job: HeldJob<'submit'>,
    { message, recipient, neverSubmitted }: ClaimedRecipient,
    { provider, outcome, heldUntil, possiblySentBefore = false, copiesLeftOut = 0 }: ProviderAnswer,
    openJob: OpenJob,
    signal: AbortSignal,
  ): Promise<void> {
    if (!leaseLost({ outcome, signal })) {
      await this.#outcomes.record({
        message,
        position: recipient.position,
        routeKey: job.routeKey,
        provider,
        attempt: job.data.attempt,
        outcome,
        heldUntil,
        copiesLeftOut,
        possiblySent:
          !neverSubmitted ||
          possiblySentBefore ||
          (outcome.kind === 'unavailable' && outcome.definitelyNotSent !== true),
        at: this.#clock.now(),
        job: openJob,
        signal,
      });
    }
    if (leaseLost({ outcome, signal })) throw new JobInterrupted();
  }

  /**
   * Tries the providers of a route in order. Returns the first outcome that is not `unavailable`, otherwise the last
   * one. Holds the recipient if quiet hours begin before a provider has taken it (R386). Ends if the recipient was
   * suppressed while it waited (R557).
   */
  async #tryProviders(
    job: HeldJob<'submit'>,
    { message, recipient }: ClaimedRecipient,
    gate: LateGate,
    signal: AbortSignal,
    quiet: QuietSignals,
  ): Promise<ProviderAnswer> {
    if (this.#clock.now() >= message.expiresAt) {
      const outcome = {
        kind: 'unavailable',
        reason: 'its deadline has passed',
        definitelyNotSent: true,
      } as const;
      return { provider: 'none', outcome };
    }
    const held = this.#holdOf(message, recipient);
    if (held) return held;
    if (!(await this.#whatsAppNumbers.mayUse(message.accountId, job.routeKey))) return NUMBER_TAKEN;
    const waiting = message.purpose === 'marketing' ? quiet.of(message.channel, recipient.address) : signal;
    // The configured routes may have changed since the message was accepted. If its route is gone, find a new one.
    const route = this.#routing.providers(job.routeKey).length
      ? job.routeKey
      : this.#routing.routeFor(message.channel, recipient.address);
    const providers: readonly Provider<Submission>[] = route ? this.#routing.providers(route) : [];
    const reason = `no provider is configured for ${message.channel}`;
    let answer: ProviderAnswer = {
      provider: 'none',
      outcome: { kind: 'unavailable', reason, definitelyNotSent: true },
    };
    let possiblySent = false;
    const stillAllowed = (addresses: readonly string[]) => gate.stillAllowed(addresses);
    for (const provider of providers) {
      const submission = await rulesOf(message.channel).submission(
        message,
        recipient,
        job.data.attempt,
        this.#directory,
      );
      if (!submission)
        return { provider: provider.name, outcome: RECIPIENT_REMOVED, possiblySentBefore: possiblySent };
      const outcome = await provider.submit({ ...submission, stillAllowed }, waiting);
      if (gate.isSuppressed) return { ...SUPPRESSED, possiblySentBefore: possiblySent };
      answer = { provider: provider.name, outcome, possiblySentBefore: possiblySent };
      if (outcome.kind !== 'unavailable' || signal.aborted) return answer;
      possiblySent ||= outcome.definitelyNotSent !== true;
      const heldMeanwhile = this.#holdOf(message, recipient);
      if (heldMeanwhile) return { ...heldMeanwhile, possiblySentBefore: possiblySent };
    }
    if (!possiblySent || answer.outcome.kind !== 'unavailable') return answer;
    const { definitelyNotSent: _, ...possiblySentOutcome } = answer.outcome;
    return { ...answer, outcome: possiblySentOutcome };
  }

  /** Returns the answer that holds a recipient in quiet hours: a retry or a late job may be due in them (R386). */
  #holdOf({ channel, purpose }: OutgoingMessage, { address }: OutgoingRecipient): ProviderAnswer | undefined {
    if (purpose !== 'marketing') return undefined;
    const heldUntil = this.#quietHours.heldUntil(channel, address, this.#clock.now());
    if (!heldUntil) return undefined;
    const reason = `marketing waits for the end of the quiet hours, ${heldUntil.toISOString()}`;
    return { provider: 'none', outcome: { kind: 'unavailable', reason, definitelyNotSent: true }, heldUntil };
  }
}

/** Returns the directory. It looks up several devices in one query. */
function directoryOf(
  stores: Pick<Stores, 'messages' | 'devices'>,
  optOutTokens: OptOutTokens,
  returnPaths: ReturnPaths | undefined,
): Directory {
  const devices = new Batcher<string, Device | undefined>(
    async (ids) => {
      const found = new Map((await stores.devices.findMany(ids)).map((device) => [device.id, device]));
      return ids.map((id) => found.get(id));
    },
    { maxWeight: MAX_DEVICES },
  );
  return {
    device: (id) => devices.add(id),
    bulk: (messageId) => stores.messages.bulk(messageId),
    optOutTokens,
    returnPaths,
  };
}

function keyOf({ messageId, position }: RecipientKey): string {
  return `${messageId} ${position}`;
}
