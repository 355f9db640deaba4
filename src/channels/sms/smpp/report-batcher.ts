/**
 * Records delivery reports in batches. A report is acknowledged to the SMSC when it is in the database or on this
 * host's disk (R15).
 */

import type { Logger } from '../../../domain/ports/logger.ts';
import type { DeliveryReport, ReportSink } from '../../../domain/ports/provider.ts';
import { OutageLog } from '../../../runtime/outage-log.ts';
import { ESME_RMSGQFUL, ESME_ROK, ESME_RX_T_APPN } from './command-status.ts';

const MAX_BATCH = 500;
/** Number of reports that may wait. It is several times what an SMSC sends before it waits for answers. */
const MAX_WAITING = 5_000;

interface Waiting {
  readonly report: DeliveryReport;
  readonly acknowledge: (status: number) => void;
}

/**
 * Records reports in batches. Does not use `Batcher`, because `Batcher` starts a batch one turn of the event loop
 * later. With it, a report that arrives before the answer to its submit_sm would be recorded after the answer.
 */
export class ReportBatcher {
  readonly #provider: string;
  readonly #sink: ReportSink;
  readonly #logger: Logger;
  readonly #outage: OutageLog;
  #waiting: Waiting[] = [];
  #running: Promise<void> | undefined;
  /** True if the log already says that reports are refused. */
  #isFull = false;

  constructor(provider: string, sink: ReportSink, logger: Logger) {
    this.#provider = provider;
    this.#sink = sink;
    this.#logger = logger;
    this.#outage = new OutageLog(
      logger,
      'delivery reports are refused; an SMSC that does not repeat them loses them',
      'delivery reports are recorded again',
    );
  }

  /**
   * Adds a report to the next batch. Calls `acknowledge` with ESME_ROK when the sink has stored it, or with
   * ESME_RX_T_APPN if the sink rejects. Most SMSCs then send the report again. If too many reports wait, calls it at
   * once with ESME_RMSGQFUL.
   */
  add(report: DeliveryReport, acknowledge: (status: number) => void): void {
    if (this.#waiting.length >= MAX_WAITING) {
      if (!this.#isFull)
        this.#logger.warn(
          { waiting: MAX_WAITING },
          'delivery reports arrive faster than they are recorded; the SMSC must repeat some',
        );
      this.#isFull = true;
      acknowledge(ESME_RMSGQFUL);
      return;
    }
    this.#waiting.push({ report, acknowledge });
    this.#running ??= this.#run();
  }

  /** Resolves when every report so far is acknowledged. */
  async idle(): Promise<void> {
    await this.#running;
  }

  async #run(): Promise<void> {
    // Wait for one microtask, so that all reports of one read from the socket are in one batch.
    await undefined;
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, MAX_BATCH);
      const status = await this.#record(batch);
      for (const { acknowledge } of batch) acknowledge(status);
    }
    this.#isFull = false;
    this.#running = undefined;
  }

  async #record(batch: readonly Waiting[]): Promise<number> {
    try {
      await this.#sink(
        this.#provider,
        batch.map(({ report }) => report),
      );
      this.#outage.worked();
      return ESME_ROK;
    } catch (error) {
      this.#outage.failed(error, batch.length);
      return ESME_RX_T_APPN;
    }
  }
}
