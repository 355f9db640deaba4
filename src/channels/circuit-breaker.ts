import type {
  Provider,
  ProviderHealth,
  ReportSink,
  Submission,
  SubmitOutcome,
} from '../domain/ports/provider.ts';
import type { ProviderRecord, ProviderStatus } from '../domain/ports/routing.ts';
import { SubmissionRecord, withoutSecrets } from './submission-record.ts';

export interface BreakerOptions {
  /** What the provider is called in health and metrics, where its name is not its alone. */
  readonly label?: string;
  /** Failures in a row after which a provider rests. */
  readonly failures?: number;
  /** Milliseconds of the first rest; each probe that fails doubles the next one up to `longestRestMs`. */
  readonly restMs?: number;
  readonly longestRestMs?: number;
  /** A clock that only goes forward, in milliseconds. */
  readonly now?: () => number;
}

const FAILURES = 5;
const REST_MS = 2_000;
const LONGEST_REST_MS = 60_000;
/** While the probe is under way nobody knows how long it takes. */
const PROBE_PAUSE_MS = 1_000;

/**
 * Rests a provider that fails again and again, so that its messages go on to the next provider, or back to the queue,
 * without each of them waiting for a time-out.
 *
 * **Failure**: an answer `unavailable` that says neither when to come back (`retryAfterMs`: the provider lives and
 * speaks for this submission) nor that it is about this submission alone (`onlyThis`). After so many in a row the
 * breaker **opens**: submissions are answered at once, and nothing of them leaves. After the rest one submission goes
 * through as the **probe**; its answer closes the breaker, or begins a rest twice as long. One whose answer takes longer
 * than a rest is not the last word: another probe goes beside it, since it may be the only one that is not answered.
 */
export class CircuitBreaker<S extends Submission> implements Provider<S> {
  readonly name: string;
  readonly #label: string;
  readonly #provider: Provider<S>;
  readonly #failuresToOpen: number;
  readonly #firstRestMs: number;
  readonly #longestRestMs: number;
  readonly #now: () => number;
  readonly #record = new SubmissionRecord();
  #failures = 0;
  #lastReason = '';
  #restMs = 0;
  /** Undefined while closed. */
  #restsUntil: number | undefined;
  /** Probes under way. */
  #probes = 0;

  constructor(provider: Provider<S>, options: BreakerOptions = {}) {
    this.name = provider.name;
    this.#label = options.label ?? provider.name;
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
      const reason = `${this.#label} rests after ${this.#failures} failures in a row: ${this.#lastReason}`;
      return { kind: 'unavailable', reason, retryAfterMs: pauseMs, definitelyNotSent: true };
    }
    const isProbe = this.#restsUntil !== undefined;
    if (isProbe) {
      this.#probes += 1;
      this.#restsUntil = this.#now() + this.#restMs;
    }
    const outcome = await this.#provider.submit(submission, signal);
    if (isProbe) this.#probes -= 1;
    // What ends because the process drains says nothing about the provider.
    if (!(outcome.kind === 'unavailable' && signal.aborted)) {
      this.#record.note(outcome);
      this.#learn(outcome, isProbe);
    }
    return outcome;
  }

  stop(): Promise<void> {
    return this.#provider.stop();
  }

  /** How the provider is, with what became of its submissions of the last minutes. */
  status(): Pick<ProviderStatus, 'name' | 'state' | 'detail' | 'inFlight'> & ProviderRecord {
    const { name, state, detail, inFlight } = this.health();
    const isFailing = state === 'up' && this.#failures > 0;
    const why = isFailing ? this.#lastReason : detail;
    return {
      name,
      state: isFailing ? 'degraded' : state,
      detail: why === undefined ? null : withoutSecrets(why),
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

  /** Milliseconds for which nothing may pass; 0 when a submission may. */
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
    // Those that were under way when it opened must not make the rest longer.
    if (this.#failures < this.#failuresToOpen || (this.#restsUntil !== undefined && !isProbe)) return;
    this.#restMs = isProbe ? Math.min(this.#longestRestMs, this.#restMs * 2) : this.#firstRestMs;
    this.#restsUntil = this.#now() + Math.max(this.#restMs, outcome.retryAfterMs ?? 0);
  }
}
