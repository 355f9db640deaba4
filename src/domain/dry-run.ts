/**
 * A **dry run** executes an operation in a transaction that is always rolled back (R273). The operation makes all its
 * checks and writes. Later reads of the same dry run see the writes. Nobody else ever sees them.
 */

import { operationsOf } from './accounts/permission-operations.ts';
import type { Sessions } from './accounts/sessions.ts';
import type { Dependencies } from './dependencies.ts';
import { serviceUnavailable } from './errors.ts';
import type { Operation } from './operation.ts';
import { createOperations } from './operations.ts';
import type { Cache } from './ports/changes.ts';
import type { NewJob } from './ports/job-queue.ts';
import { UNMEASURED } from './ports/measurements.ts';
import type { RolledBackTransactions } from './ports/stores.ts';

/** Runs operations without lasting effect, until `end` is called. */
export interface DryRun {
  /** Returns the same operation, to be run in this dry run. */
  of<Input, Output>(operation: Operation<Input, Output>): Operation<Input, Output>;
  /** Rolls everything back. Never rejects. */
  end(): Promise<void>;
}

/** Runs a job that an operation has created. Needed if the result of the job is a part of the operation's answer. */
type RunJob = (job: NewJob, parts: Pick<Dependencies, 'stores' | 'uow'>) => Promise<void>;

/** Opens dry runs. */
export class DryRuns {
  readonly #runJob: RunJob;
  readonly #deps: Dependencies;
  readonly #sessions: Sessions;
  readonly #transactions: RolledBackTransactions;

  constructor(deps: Dependencies, sessions: Sessions, transactions: RolledBackTransactions, runJob: RunJob) {
    this.#runJob = runJob;
    this.#deps = deps;
    this.#sessions = sessions;
    this.#transactions = transactions;
  }

  /**
   * Opens a dry run. It may hold locks of its account for `maxMs` (R331). After that time, its operations throw
   * `service_unavailable`. `open` throws the same error if too many dry runs are open.
   */
  async open(holder: string, maxMs: number): Promise<DryRun> {
    const transaction = await this.#transactions.open(holder, maxMs);
    const { jobs, stores, uow, intake } = transaction;
    const parts = { stores, uow, intake };
    let begun = 0;
    const operations = createOperations(
      { ...this.#deps, ...parts, createCache: uncached, measurements: UNMEASURED },
      this.#sessions,
    );
    const byName = new Map(operationsOf(operations).map((operation) => [operation.name, operation]));
    return {
      end: () => transaction.end(),
      of: <Input, Output>({ name }: Operation<Input, Output>) => {
        const found = byName.get(name);
        if (!found) throw new Error(`there is no operation ${name}`);
        const own = found as unknown as Operation<Input, Output>;
        return {
          ...own,
          run: async (caller, input: Input) => {
            try {
              const output = await own.run(caller, input);
              for (let job = jobs[begun]; job; job = jobs[begun]) {
                begun += 1;
                await this.#runJob(job, parts);
              }
              return output;
            } catch (error) {
              throw transaction.isOverdue ? tookTooLong(maxMs) : error;
            }
          },
        };
      },
    };
  }
}

function tookTooLong(maxMs: number) {
  return serviceUnavailable(
    `The dry run was ended after ${maxMs} ms, because others may wait for its locks. Try again, and ask for fewer fields.`,
  );
}

/** A cache that never keeps a value: a value that was read in this transaction must not reach other requests. */
function uncached<Value>(_kind: unknown, load: (id: string) => Promise<Value>): Cache<Value> {
  return { get: load, renew: load, recall: () => undefined, forget: () => undefined };
}
