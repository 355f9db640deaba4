import { type Measurements, UNMEASURED } from '../domain/ports/measurements.ts';
import type {
  InboundSink,
  Provider,
  ProviderHealth,
  ProviderOutcome,
  ProviderProbe,
  ReportSink,
  Submission,
} from '../domain/ports/provider.ts';
import type { ProviderRecord, ProviderStatus } from '../domain/ports/routing.ts';
import { createRedaction } from './redact-operator.ts';
import { redactSecrets, SubmissionRecord } from './submission-record.ts';

export interface BreakerOptions {
  /** The provider's name in health and metrics. Set it if several providers have the same name. */
  readonly label?: string;
  readonly measurements?: Pick<Measurements, 'submitted'>;
  /** The breaker opens after this many consecutive failures. */
  readonly failures?: number;
  /** Length of the first rest in ms. Each failed probe doubles the next rest, up to `longestRestMs`. */
  readonly restMs?: number;
  readonly longestRestMs?: number;
  /** A monotonic clock, in ms. */
  readonly now?: () => number;
}

const FAILURES = 5;
const REST_MS = 2_000;
const LONGEST_REST_MS = 60_000;
/** Pause in ms between probes while a probe has no answer yet. */
const PROBE_PAUSE_MS = 1_000;

/**
 * Stops using a provider for a while after it failed repeatedly. This time is a **rest**. During it, messages go at
 * once to the next provider or back to the queue, and none of them waits for a timeout.
 *
 * **Failure**: the outcome `unavailable`, with two exceptions. With `retryAfterMs` the provider works and refuses only
 * this submission for now. With `onlyThis` it works and puts off only this submission.
 *
 * An outcome for which the provider was not `asked` counts for nothing, whether it is final or not: it neither opens nor
 * closes the breaker, and the next submission is the probe (R588).
 *
 * After enough consecutive failures the breaker **opens**: it refuses submissions without sending them. After the rest,
 * it sends one submission, the **probe**. The outcome of the probe closes the breaker, or starts a rest twice as long.
 * If the probe has no answer by the end of a pause, another probe is sent, because perhaps only that one submission
 * gets no answer.
 */
export class CircuitBreaker<S extends Submission> implements Provider<S> {
  readonly name: string;
  /** The provider's name in health and metrics. */
  readonly label: string;
  readonly probe?: () => Promise<ProviderProbe>;
  readonly tellsBalance: boolean;
  readonly #provider: Provider<S>;
  readonly #failuresToOpen: number;
  readonly #firstRestMs: number;
  readonly #longestRestMs: number;
  readonly #now: () => number;
  readonly #redact: (text: string) => string;
  readonly #record = new SubmissionRecord();
  readonly #measurements: Pick<Measurements, 'submitted'>;
  #failures = 0;
  #lastReason = '';
  #restMs = 0;
  /** When the rest ends. Undefined while the breaker is closed. */
  #restsUntil: number | undefined;
  /** Number of probes that have no answer yet. */
  #probes = 0;

  constructor(provider: Provider<S>, options: BreakerOptions = {}) {
    this.name = provider.name;
    this.label = options.label ?? provider.name;
    this.#redact = createRedaction(provider.name);
    this.#provider = provider;
    this.tellsBalance = provider.tellsBalance === true;
    if (provider.probe) this.probe = provider.probe.bind(provider);
    this.#measurements = options.measurements ?? UNMEASURED;
    this.#failuresToOpen = options.failures ?? FAILURES;
    this.#firstRestMs = options.restMs ?? REST_MS;
    this.#longestRestMs = options.longestRestMs ?? LONGEST_REST_MS;
    this.#now = options.now ?? (() => performance.now());
  }

  start(onReports: ReportSink, onInbound: InboundSink): void {
    this.#provider.start(onReports, onInbound);
  }

  async submit(submission: S, signal: AbortSignal): Promise<ProviderOutcome> {
    const pauseMs = this.#pauseMs();
    if (pauseMs > 0) {
      const reason = `the provider rests after ${this.#failures} failures in a row: ${this.#lastReason}`;
      return this.#forCustomers({
        kind: 'unavailable',
        asked: false,
        reason,
        retryAfterMs: pauseMs,
        definitelyNotSent: true,
      });
    }
    const isProbe = this.#restsUntil !== undefined;
    if (isProbe) {
      this.#probes += 1;
      this.#restsUntil = this.#now() + this.#restMs;
    }
    const restOfProbe = isProbe ? this.#restsUntil : undefined;
    const startedAt = performance.now();
    const outcome = await this.#provider.submit(submission, signal);
    if (isProbe) this.#probes -= 1;
    // Do not count a submission that ended because the process stops. It says nothing about the provider.
    if (!(outcome.kind === 'unavailable' && signal.aborted)) {
      const seconds = (performance.now() - startedAt) / 1_000;
      this.#measurements.submitted({ provider: this.label, submission, outcome, seconds });
      this.#record.note(outcome);
      this.#learn(outcome, restOfProbe);
    }
    return this.#forCustomers(outcome);
  }

  stop(): Promise<void> {
    return this.#provider.stop();
  }

  /** Returns the provider's health, and the number of its submissions in the last minutes by outcome. */
  status(): Pick<ProviderStatus, 'name' | 'state' | 'detail' | 'inFlight'> & ProviderRecord {
    const { name, state, detail, inFlight } = this.health();
    const isFailing = state === 'up' && this.#failures > 0;
    const why = isFailing ? this.#lastReason : detail;
    return {
      name,
      state: isFailing ? 'degraded' : state,
      detail: why === undefined ? null : redactSecrets(why),
      inFlight,
      ...this.#record.read(),
    };
  }

  health(): ProviderHealth {
    const health = { ...this.#provider.health(), name: this.label };
    if (this.#restsUntil === undefined) return health;
    const detail = `resting after ${this.#failures} failures in a row: ${this.#lastReason}`;
    return { ...health, state: 'down', detail };
  }

  /**
   * Customers see this reason. So remove the details about the operator. The operator sees the whole reason in `health`
   * and `status`.
   */
  #forCustomers(outcome: ProviderOutcome): ProviderOutcome {
    return outcome.kind === 'accepted' ? outcome : { ...outcome, reason: this.#redact(outcome.reason) };
  }

  /** Returns the time in ms until a submission may be sent. 0 means now. */
  #pauseMs(): number {
    if (this.#restsUntil === undefined) return 0;
    const leftMs = Math.max(0, Math.ceil(this.#restsUntil - this.#now()));
    return this.#probes > 0 ? Math.min(leftMs, PROBE_PAUSE_MS) : leftMs;
  }

  /** `restOfProbe`: the end of the rest that the submission began as a probe. Undefined if it was no probe. */
  #learn(outcome: ProviderOutcome, restOfProbe: number | undefined): void {
    const isProbe = restOfProbe !== undefined;
    if (outcome.kind !== 'accepted' && !outcome.asked) {
      // Another probe may have failed meanwhile, and begun a rest of its own.
      if (isProbe && this.#restsUntil === restOfProbe) this.#restsUntil = this.#now();
      return;
    }
    if (outcome.kind !== 'unavailable' || outcome.onlyThis) {
      this.#failures = 0;
      this.#restsUntil = undefined;
      return;
    }
    if (outcome.retryAfterMs !== undefined && !isProbe) return;
    this.#failures += 1;
    this.#lastReason = outcome.reason;
    // Ignore submissions that were in flight when the breaker opened. They must not prolong the rest.
    if (this.#failures < this.#failuresToOpen || (this.#restsUntil !== undefined && !isProbe)) return;
    this.#restMs = isProbe ? Math.min(this.#longestRestMs, this.#restMs * 2) : this.#firstRestMs;
    this.#restsUntil = this.#now() + Math.max(this.#restMs, outcome.retryAfterMs ?? 0);
  }
}
