import type { HeldJob, QueueName } from '../domain/ports/job-queue.ts';
import type { Tx, UnitOfWork } from '../domain/ports/stores.ts';

/** A job whose work is recorded in several parts. */
export interface OpenJob {
  readonly held: Pick<HeldJob<QueueName>, 'id' | 'queue'>;
  /** Number of parts that are not recorded yet. */
  unrecorded: number;
}

/**
 * Records parts of jobs in one transaction. `parts` has the job of each part. When the last parts of a job are
 * recorded, the same transaction deletes the job.
 */
export async function recordParts(
  uow: UnitOfWork,
  parts: readonly OpenJob[],
  record: (tx: Tx) => Promise<void>,
): Promise<void> {
  const counts = new Map<OpenJob, number>();
  for (const job of parts) counts.set(job, (counts.get(job) ?? 0) + 1);
  await uow.run(async (tx) => {
    await record(tx);
    await tx.jobs.end(
      [...counts].filter(([job, count]) => job.unrecorded === count).map(([job]) => job.held),
    );
  });
  for (const [job, count] of counts) job.unrecorded -= count;
}
