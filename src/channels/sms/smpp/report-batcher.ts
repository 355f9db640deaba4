/**
 * Records delivery reports in batches. Acknowledges each to the SMSC once it is in the database or on this host's
 * disk (R15).
 */

import type { Logger } from '../../../domain/ports/logger.ts';
import type { DeliveryReport, ReportSink } from '../../../domain/ports/provider.ts';
import { OutageLog } from '../../../runtime/outage-log.ts';
import { ESME_RMSGQFUL, ESME_ROK, ESME_RX_T_APPN } from './command-status.ts';

const MAX_BATCH = 500;
/** Reports that may wait: several times what an SMSC sends before it gets an answer. */
const MAX_WAITING = 5_000;

interface Waiting {
  readonly report: DeliveryReport;
  readonly acknowledge: (status: number) => void;
}

/**
 * Not a `Batcher`, which starts a batch one turn of the event loop later: a report that came before the answer to its
 * submit_sm would be recorded after it.
 */
export class ReportBatcher {
  readonly #provider: string;
  readonly #sink: ReportSink;
  readonly #logger: Logger;
  readonly #outage: OutageLog;
  #waiting: Waiting[] = [];
  #running: Promise<void> | undefined;
  /** Whether the log already says that reports are refused. */
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
   * Takes a report for the next batch. `acknowledge` gets ESME_ROK once the sink has resolved. It gets ESME_RX_T_APPN
   * when the sink rejects, which makes most SMSCs repeat the report, and ESME_RMSGQFUL at once when too many reports
   * wait.
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

  /** Resolves when every report so far has been acknowledged. */
  async idle(): Promise<void> {
    await this.#running;
  }

  async #run(): Promise<void> {
    // One microtask later, so that all reports of one read from the socket form one batch.
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
