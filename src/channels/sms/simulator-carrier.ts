import type { Logger } from '../../domain/ports/logger.ts';
import type {
  DeliveryReport,
  Provider,
  ProviderHealth,
  ProviderOutcome,
  ReportSink,
  Submission,
} from '../../domain/ports/provider.ts';
import { OutageLog } from '../../runtime/outage-log.ts';

const REPORT_AFTER_MS = 1_000;
const TEMPORARY_FAILURES = 2;

/**
 * Simulates a carrier inside this process, so that everything works without configuration. The last four digits of the
 * recipient choose the outcome (R226). Its sids are made from the message id. So a repeated message has the same sid,
 * as with an SMSC that removes duplicates.
 */
export class SimulatorCarrier implements Provider<Submission> {
  readonly name: string;
  readonly #outage: OutageLog;
  readonly #tellsRead: boolean;
  #isStopped = false;
  readonly #timers = new Set<NodeJS.Timeout>();
  #onReports: ReportSink | undefined;

  /**
   * `name` distinguishes the simulators of several channels. With `tellsRead`, a delivered message is also reported as
   * read a second later.
   */
  constructor(logger: Logger, { name = 'simulator', tellsRead = false } = {}) {
    this.name = name;
    this.#tellsRead = tellsRead;
    this.#outage = new OutageLog(
      logger,
      'the simulator could not hand over delivery reports',
      'the simulator hands over delivery reports again',
    );
  }

  start(onReports: ReportSink): void {
    this.#onReports = onReports;
  }

  async submit(submission: Submission, signal: AbortSignal): Promise<ProviderOutcome> {
    if (signal.aborted || this.#isStopped) {
      return {
        kind: 'unavailable',
        asked: false,
        reason: 'the gateway is stopping',
        definitelyNotSent: true,
      };
    }
    // The sid is about as short as the sids of real carriers. The last half of a message id is random, so that half is
    // used.
    const sid = `sim-${submission.messageId.replaceAll('-', '').slice(-16)}-${submission.position}`;
    switch (submission.to.slice(-4)) {
      case '0001':
        return {
          kind: 'rejected',
          asked: true,
          code: 'SIM_REJECTED',
          reason: 'The simulator rejects numbers ending in 0001.',
        };
      case '0002':
        this.#report({
          sid,
          status: 'failed',
          code: 'SIM_UNDELIVERABLE',
          reason: 'The simulator cannot deliver to numbers ending in 0002.',
        });
        return { kind: 'accepted', sid };
      case '0003':
        if (submission.attempt < TEMPORARY_FAILURES) {
          const reason = 'the simulator fails twice for numbers ending in 0003';
          return { kind: 'unavailable', asked: true, reason, definitelyNotSent: true, onlyThis: true };
        }
        break;
      case '0004':
        return { kind: 'accepted', sid };
    }
    this.#report({ sid, status: 'delivered' });
    if (this.#tellsRead) this.#report({ sid, status: 'read' }, 2 * REPORT_AFTER_MS);
    return { kind: 'accepted', sid };
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
  }

  health(): ProviderHealth {
    return { name: this.name, state: 'up', inFlight: 0 };
  }

  /** Sends a report about a second later. A restart loses the report, as can happen with a real carrier. */
  #report(report: DeliveryReport, afterMs = REPORT_AFTER_MS): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      this.#onReports?.(this.name, [report]).then(
        () => this.#outage.worked(),
        (error: unknown) => {
          this.#outage.failed(error);
          if (this.#timers.size < 100_000) this.#report(report);
        },
      );
    }, afterMs);
    this.#timers.add(timer);
  }
}
