import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type {
  AcceptedMessage,
  MeasuredAttempt,
  MeasuredMove,
  MeasuredReturn,
  MeasuredSubmission,
  Measurements,
} from '../domain/ports/measurements.ts';
import type { DeliveryReport, ProviderBalance } from '../domain/ports/provider.ts';

/** Number of failure reasons of a provider that have a series of their own. Further reasons are counted as `other`. */
const REASONS_MAX = 50;
const REASON_MAX_LENGTH = 40;

/** Counts in the registry that `/metrics` shows. A process counts only what it did itself. */
export class PrometheusMeasurements implements Measurements {
  readonly #accepted: Counter;
  readonly #submitted: Histogram;
  readonly #moved: Counter;
  readonly #reports: Counter;
  readonly #reportTimes: Histogram;
  readonly #refunds: Counter;
  readonly #attempts: Histogram;
  readonly #returned: Counter;
  readonly #balances = new Map<string, ProviderBalance>();
  /** By provider: the failure reasons that have a series of their own. */
  readonly #reasons = new Map<string, Set<string>>();
  /**
   * The counters of accepted recipients, by channel and environment. Finding a counter by its labels each time would
   * take longer.
   */
  readonly #acceptedBy = new Map<string, Counter.Internal>();

  constructor(registry: Registry) {
    const registers = [registry];
    this.#accepted = new Counter({
      name: 'gateway_accepted_recipients_total',
      help: 'Recipients of accepted messages.',
      labelNames: ['channel', 'environment'],
      registers,
    });
    this.#submitted = new Histogram({
      name: 'gateway_submit_duration_seconds',
      help: 'Time of a submission to a provider until its outcome: accepted, rejected or unavailable (tried again).',
      labelNames: ['provider', 'outcome'],
      buckets: [0.005, 0.025, 0.1, 0.25, 1, 5, 15, 60],
      registers,
    });
    this.#moved = new Counter({
      name: 'gateway_outcomes_total',
      help: 'Recipients that got a status, by channel, provider and reason of a failure.',
      labelNames: ['channel', 'provider', 'status', 'reason'],
      registers,
    });
    this.#reports = new Counter({
      name: 'gateway_delivery_reports_total',
      help: 'Delivery reports that arrived, repeated and unknown ones included.',
      labelNames: ['provider', 'status'],
      registers,
    });
    this.#reportTimes = new Histogram({
      name: 'gateway_report_duration_seconds',
      help: 'Time from the submission of a recipient to the delivery report that ended it.',
      labelNames: ['provider'],
      buckets: [0.5, 1, 2.5, 5, 15, 60, 300, 1_800, 7_200, 86_400],
      registers,
    });
    this.#refunds = new Counter({
      name: 'gateway_refunds_total',
      help: 'Recipients whose cost was refunded.',
      registers,
    });
    this.#attempts = new Histogram({
      name: 'gateway_webhook_attempt_duration_seconds',
      help: 'Time of an attempt to deliver an event to a webhook, by the class of its answer.',
      labelNames: ['result'],
      buckets: [0.005, 0.025, 0.1, 0.25, 1, 5, 10],
      registers,
    });
    this.#returned = new Counter({
      name: 'gateway_returned_mails_total',
      help: 'Mails that came back to the listener for bounces and complaints, by what they changed.',
      labelNames: ['outcome'],
      registers,
    });
    const balances = this.#balances;
    new Gauge({
      name: 'gateway_provider_balance',
      help: 'Credit left with a provider that tells it, in the major unit of the currency.',
      labelNames: ['provider', 'currency'],
      registers,
      collect() {
        this.reset();
        for (const [provider, { amount, currency }] of balances) this.set({ provider, currency }, amount);
      },
    });
  }

  accepted({ channel, environment, recipients }: AcceptedMessage): void {
    const key = `${channel} ${environment}`;
    let counter = this.#acceptedBy.get(key);
    if (!counter) {
      counter = this.#accepted.labels({ channel, environment });
      this.#acceptedBy.set(key, counter);
    }
    counter.inc(recipients.length);
  }

  submitted({ provider, outcome, seconds }: MeasuredSubmission): void {
    this.#submitted.observe({ provider, outcome: outcome.kind }, seconds);
  }

  moved(moves: readonly MeasuredMove[]): void {
    for (const { channel, provider, status, reason, reportSeconds } of moves) {
      const name = provider ?? 'none';
      this.#moved.inc({ channel, provider: name, status, reason: this.#reasonLabel(name, reason) });
      if (reportSeconds !== null) this.#reportTimes.observe({ provider: name }, Math.max(0, reportSeconds));
    }
  }

  refunded(recipients: number): void {
    this.#refunds.inc(recipients);
  }

  reported(provider: string, status: DeliveryReport['status']): void {
    this.#reports.inc({ provider, status });
  }

  attempted({ result, seconds }: MeasuredAttempt): void {
    this.#attempts.observe({ result }, seconds);
  }

  returned(outcome: MeasuredReturn): void {
    this.#returned.inc({ outcome });
  }

  /** Metrics have no traces, so there is no header. */
  traceparentOf(): undefined {
    return undefined;
  }

  balanceOf(provider: string, balance: ProviderBalance | undefined): void {
    if (balance) this.#balances.set(provider, balance);
    else this.#balances.delete(provider);
  }

  #reasonLabel(provider: string, reason: string | null): string {
    if (reason === null) return '';
    const label = reason.slice(0, REASON_MAX_LENGTH).replace(/[^\w.:-]+/g, '_');
    const known = this.#reasons.get(provider) ?? new Set<string>();
    this.#reasons.set(provider, known);
    if (known.has(label)) return label;
    if (known.size >= REASONS_MAX) return 'other';
    known.add(label);
    return label;
  }
}
