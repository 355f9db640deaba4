/**
 * Keeps delivery reports on this host's disk while the database is unreachable. A report on disk is called **spooled**.
 * It is acknowledged to the provider as if it were recorded, because not every provider repeats a refused report. While
 * any report is spooled, all later ones are spooled too, so that reports are applied in order (R211).
 */
import { serviceUnavailable } from '../../domain/errors.ts';
import type { Logger } from '../../domain/ports/logger.ts';
import type { DeliveryReport } from '../../domain/ports/provider.ts';
import type { KeptReport, ReportSpool, ReportStore, SpoolBatch } from '../../domain/ports/report-stores.ts';
import type { Tx, UnitOfWork } from '../../domain/ports/stores.ts';
import { OutageLog } from '../../runtime/outage-log.ts';

/** Time in ms in which the database must record reports. After it, the database counts as unreachable. */
const RECORD_MS = 5_000;
const MAX_BATCH = 500;

/**
 * The result for a report: true if its sid was known, or the reason why it was refused. A spooled report counts as
 * known.
 */
export type Taken = boolean | { readonly refused: unknown };

export const isRefused = (taken: Taken): taken is { readonly refused: unknown } => typeof taken === 'object';

interface Incoming {
  readonly provider: string;
  readonly report: DeliveryReport;
  /** If true, the report is not stored when its sid is unknown. So it is never spooled. */
  readonly isForKnownOnly?: boolean;
}

interface Parts<Report extends Incoming> {
  readonly spool: ReportSpool;
  readonly progress: Pick<ReportStore, 'spoolAppliedTo' | 'noteSpoolApplied' | 'forgetSpool'>;
  readonly uow: UnitOfWork;
  readonly now: () => Date;
  /** True if an error means that the database is unreachable. False if it means that a report is invalid. */
  readonly isFault: (error: unknown) => boolean;
  readonly mayPassAlone: (error: unknown) => boolean;
  /** Records reports in the database. Resolves with true for each report whose sid was known. */
  readonly record: (reports: readonly Report[]) => Promise<boolean[]>;
  /** Applies spooled reports, with the times at which they arrived. */
  readonly apply: (tx: Tx, reports: readonly KeptReport[]) => Promise<unknown>;
  readonly logger: Logger;
}

export class SpooledReports<Report extends Incoming> {
  readonly #parts: Parts<Report>;
  readonly #away: OutageLog;
  readonly #full: OutageLog;
  /**
   * Reports that were spooled because the database did not answer in time. If it answers later that they were recorded,
   * they must not be applied again.
   */
  #unanswered:
    | { readonly isRecorded: Promise<boolean>; readonly place: Omit<SpoolBatch, 'reports'> }
    | undefined;
  #replaying: Promise<void> | undefined;

  constructor(parts: Parts<Report>) {
    this.#parts = parts;
    this.#away = new OutageLog(
      parts.logger,
      'delivery reports are kept on disk until the database takes them',
      'the delivery reports on disk are applied',
    );
    this.#full = new OutageLog(
      parts.logger,
      'delivery reports are refused: they can neither be recorded nor kept on disk',
      'delivery reports are taken again',
    );
  }

  /**
   * Records reports. Spools them if the database is unreachable, or if other reports are spooled. Call it for one batch
   * at a time. Rejects with the database's error in two cases: the reports should be recorded one by one, or they
   * cannot be spooled.
   */
  async take(reports: readonly Report[]): Promise<Taken[]> {
    const spooling = reports.filter(({ isForKnownOnly }) => !isForKnownOnly);
    if (this.#parts.spool.isEmpty) return this.#recordOrSpool(reports, spooling);
    const known = reports.filter(({ isForKnownOnly }) => isForKnownOnly);
    const [recorded] = await Promise.all([this.#recordKnown(known), this.#spool(spooling)]);
    const results = new Map(known.map((report, index) => [report, recorded[index] ?? false]));
    return reports.map((report) => results.get(report) ?? true);
  }

  /** Applies spooled reports, oldest first, until none is left. Rejects while the database is unreachable. */
  replay(): Promise<void> {
    this.#replaying ??= this.#replay().finally(() => {
      this.#replaying = undefined;
    });
    return this.#replaying;
  }

  async adopt(): Promise<void> {
    const files = await this.#parts.spool.adopt();
    if (files > 0) {
      this.#parts.logger.info({ files }, 'took over delivery reports that a process left on disk');
    }
  }

  async #recordOrSpool(reports: readonly Report[], spooling: readonly Report[]): Promise<Taken[]> {
    const { record, isFault, mayPassAlone } = this.#parts;
    const recording = record(reports);
    const outcome = await within(RECORD_MS, recording);
    if (outcome?.kind === 'done') {
      this.#full.worked();
      return outcome.value;
    }
    const error =
      outcome?.error ??
      serviceUnavailable('The database does not answer at the moment. Try again.', 1, 'database_silent');
    if (outcome && (!isFault(error) || (reports.length > 1 && mayPassAlone(error)))) throw error;
    const place = await this.#spool(spooling, error);
    if (!outcome && place) {
      const isRecorded = recording.then(
        () => true,
        () => false,
      );
      this.#unanswered = { isRecorded, place };
    }
    return reports.map(({ isForKnownOnly }) => (isForKnownOnly ? { refused: error } : true));
  }

  /** Spools reports, either because of `error`, or because earlier ones are spooled. */
  async #spool(
    reports: readonly Report[],
    error?: unknown,
  ): Promise<Omit<SpoolBatch, 'reports'> | undefined> {
    if (reports.length === 0) return undefined;
    const receivedAt = this.#parts.now();
    try {
      const place = await this.#parts.spool.append(
        reports.map(({ provider, report }) => ({ provider, report, receivedAt })),
      );
      this.#away.failed(error, reports.length);
      this.#full.worked();
      return place;
    } catch (refusal) {
      this.#full.failed((refusal as Error).cause ?? refusal, reports.length);
      throw error ?? refusal;
    }
  }

  async #recordKnown(reports: readonly Report[]): Promise<Taken[]> {
    if (reports.length === 0) return [];
    try {
      return await this.#parts.record(reports);
    } catch (refused) {
      return reports.map(() => ({ refused }));
    }
  }

  async #replay(): Promise<void> {
    const { spool, progress } = this.#parts;
    await this.#hearLateAnswer();
    for (let file = spool.oldest(); file !== undefined; file = spool.oldest()) {
      const from = await progress.spoolAppliedTo(file);
      const batch = await spool.read(file, from, MAX_BATCH);
      if (batch.to > batch.from) await this.#applyOnce(batch);
      else if (await spool.remove(file, from)) await progress.forgetSpool(file);
    }
    this.#away.worked();
  }

  /**
   * Waits for the late answer about reports that were spooled without an answer. If they were recorded, marks them as
   * applied.
   */
  async #hearLateAnswer(): Promise<void> {
    if (!this.#unanswered) return;
    const { isRecorded, place } = this.#unanswered;
    if (await isRecorded) await this.#parts.progress.noteSpoolApplied(place.spool, place.from, place.to);
    this.#unanswered = undefined;
  }

  /** Applies a batch exactly once, because the position in the file commits with it. */
  async #applyOnce(batch: SpoolBatch): Promise<void> {
    const { uow, apply, isFault, spool, progress, logger } = this.#parts;
    const { spool: file, from, to, reports } = batch;
    try {
      await uow.run(async (tx) => {
        if (await tx.reports.noteSpoolApplied(file, from, to)) await apply(tx, reports);
      });
    } catch (error) {
      if (isFault(error)) throw error;
      // Drop an invalid report. It was acknowledged, so the provider will not send it again. But it must not block the
      // reports after it.
      if (reports.length > 1)
        return this.#applyOnce(await spool.read(file, from, Math.ceil(reports.length / 2)));
      const provider = reports[0]?.provider;
      logger.error({ err: error, provider }, 'a delivery report on disk cannot be recorded; it is given up');
      await progress.noteSpoolApplied(file, from, to);
    }
  }
}

type Outcome<T> =
  | { readonly kind: 'done'; readonly value: T }
  | { readonly kind: 'failed'; readonly error: unknown };

/** Returns the result of `work`, or undefined if it takes longer than `timeoutMs`. */
async function within<T>(timeoutMs: number, work: Promise<T>): Promise<Outcome<T> | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<undefined>((resolve) => {
    timer = setTimeout(resolve, timeoutMs, undefined);
  });
  const outcome = work.then(
    (value): Outcome<T> => ({ kind: 'done', value }),
    (error: unknown): Outcome<T> => ({ kind: 'failed', error }),
  );
  return Promise.race([outcome, timeout]).finally(() => clearTimeout(timer));
}
