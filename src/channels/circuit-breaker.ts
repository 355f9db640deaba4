import type {
  Provider,
  ProviderHealth,
  ReportSink,
  Submission,
  SubmitOutcome,
} from '../domain/ports/provider.ts';
import type { ProviderRecord, ProviderStatus } from '../domain/ports/routing.ts';
import { createRedaction } from './redact-operator.ts';
import { redactSecrets, SubmissionRecord } from './submission-record.ts';

export interface BreakerOptions {
  /** The provider's name in health and metrics, when several providers share its name. */
  readonly label?: string;
  /** Consecutive failures that open the breaker. */
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
/** Pause between probes while one has no answer yet. */
const PROBE_PAUSE_MS = 1_000;

/**
 * Rests a provider that fails repeatedly, so that its messages go to the next provider, or back to the queue, without
 * a timeout each.
 *
 * **Failure**: the outcome `unavailable` without `retryAfterMs` (the provider works and speaks for this submission)
 * and without `onlyThis`. After enough consecutive failures the breaker **opens**: submissions are refused at once
 * and not sent. After the rest one submission passes as the **probe**. Its outcome closes the breaker, or starts a
 * rest twice as long. If its answer takes longer than the rest, another probe goes beside it: it may be the only
 * submission that is not answered.
 */
export class CircuitBreaker<S extends Submission> implements Provider<S> {
  readonly name: string;
  readonly #label: string;
  readonly #provider: Provider<S>;
  readonly #failuresToOpen: number;
  readonly #firstRestMs: number;
  readonly #longestRestMs: number;
  readonly #now: () => number;
  readonly #redact: (text: string) => string;
  readonly #record = new SubmissionRecord();
  #failures = 0;
  #lastReason = '';
  #restMs = 0;
  /** Undefined while closed. */
  #restsUntil: number | undefined;
  /** Probes without an answer. */
  #probes = 0;

  constructor(provider: Provider<S>, options: BreakerOptions = {}) {
    this.name = provider.name;
    this.#label = options.label ?? provider.name;
    this.#redact = createRedaction(provider.name);
    this.#provider = provider;
    this.#failuresToOpen = options.failures ?? FAILURES;
    this.#firstRestMs = options.restMs ?? REST_MS;
    this.#longestRestMs = options.longestRestMs ?? LONGEST_REST_MS;
    this.#now = options.now ?? (() => performance.now());
  }

  start(onReports: ReportSink): void {
    this.#provider.start(onReports);
  }

  async submit(submission: S, signal: AbortSignal): Promise<SubmitOutcome> {
    const pauseMs = this.#pauseMs();
    if (pauseMs > 0) {
      const reason = `the provider rests after ${this.#failures} failures in a row: ${this.#lastReason}`;
      return this.#forCustomers({
        kind: 'unavailable',
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
    const outcome = await this.#provider.submit(submission, signal);
    if (isProbe) this.#probes -= 1;
    // A submission that ends because the process drains says nothing about the provider.
    if (!(outcome.kind === 'unavailable' && signal.aborted)) {
      this.#record.note(outcome);
      this.#learn(outcome, isProbe);
    }
    return this.#forCustomers(outcome);
  }

  stop(): Promise<void> {
    return this.#provider.stop();
  }

  /** The provider's health, with its submissions of the last minutes. */
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
    const health = { ...this.#provider.health(), name: this.#label };
    if (this.#restsUntil === undefined) return health;
    const detail = `resting after ${this.#failures} failures in a row: ${this.#lastReason}`;
    return { ...health, state: 'down', detail };
  }

  /** Only the operator sees the whole reason, in health and in `status`. */
  #forCustomers(outcome: SubmitOutcome): SubmitOutcome {
    return outcome.kind === 'accepted' ? outcome : { ...outcome, reason: this.#redact(outcome.reason) };
  }

  /** Milliseconds until a submission may pass; 0 when one may pass now. */
  #pauseMs(): number {
    if (this.#restsUntil === undefined) return 0;
    const leftMs = Math.max(0, Math.ceil(this.#restsUntil - this.#now()));
    return this.#probes > 0 ? Math.min(leftMs, PROBE_PAUSE_MS) : leftMs;
  }

  #learn(outcome: SubmitOutcome, isProbe: boolean): void {
    if (outcome.kind !== 'unavailable' || outcome.onlyThis) {
      this.#failures = 0;
      this.#restsUntil = undefined;
      return;
    }
    if (outcome.retryAfterMs !== undefined && !isProbe) return;
    this.#failures += 1;
    this.#lastReason = outcome.reason;
    // Submissions that were in flight when the breaker opened must not prolong the rest.
    if (this.#failures < this.#failuresToOpen || (this.#restsUntil !== undefined && !isProbe)) return;
    this.#restMs = isProbe ? Math.min(this.#longestRestMs, this.#restMs * 2) : this.#firstRestMs;
    this.#restsUntil = this.#now() + Math.max(this.#restMs, outcome.retryAfterMs ?? 0);
  }
}
