/**
 * A **dry run** executes an operation in a transaction that is always rolled back (R273). All checks and writes of the
 * operation happen. Later reads of the same dry run see the writes. Nobody else ever sees them.
 */

import { operationsOf } from './accounts/permission-operations.ts';
import type { Sessions } from './accounts/sessions.ts';
import type { Dependencies } from './dependencies.ts';
import type { Operation } from './operation.ts';
import { createOperations } from './operations.ts';
import type { Cache } from './ports/changes.ts';
import type { NewJob } from './ports/job-queue.ts';
import type { RolledBackTransactions } from './ports/stores.ts';

/** Runs operations without lasting effect, until `end` is called. */
export interface DryRun {
  /** Returns the same operation, to be run in this dry run. */
  of<Input, Output>(operation: Operation<Input, Output>): Operation<Input, Output>;
  /** Rolls everything back. Never rejects. */
  end(): Promise<void>;
}

/** Runs a job that an operation created, if its result is a part of the operation's answer. */
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

  /** Opens a dry run. Throws `service_unavailable` if too many are open. */
  async open(): Promise<DryRun> {
    const { end, jobs, ...parts } = await this.#transactions.open();
    let begun = 0;
    const operations = createOperations({ ...this.#deps, ...parts, createCache: uncached }, this.#sessions);
    const byName = new Map(operationsOf(operations).map((operation) => [operation.name, operation]));
    return {
      end,
      of: <Input, Output>({ name }: Operation<Input, Output>) => {
        const found = byName.get(name);
        if (!found) throw new Error(`there is no operation ${name}`);
        const own = found as unknown as Operation<Input, Output>;
        return {
          ...own,
          run: async (caller, input: Input) => {
            const output = await own.run(caller, input);
            for (let job = jobs[begun]; job; job = jobs[begun]) {
              begun += 1;
              await this.#runJob(job, parts);
            }
            return output;
          },
        };
      },
    };
  }
}

/** A cache without caching: a value read in this transaction must not reach other requests. */
function uncached<Value>(_kind: unknown, load: (id: string) => Promise<Value>): Cache<Value> {
  return { get: load, renew: load };
}
