/**
 * A **dry run** does an operation in a transaction that is always rolled back (R273): all its checks and writes happen,
 * later reads of the same dry run see them, and nobody else ever does.
 */

import { operationsOf } from './accounts/permission-operations.ts';
import type { Sessions } from './accounts/sessions.ts';
import type { Dependencies } from './dependencies.ts';
import type { Operation } from './operation.ts';
import { createOperations } from './operations.ts';
import type { Cache } from './ports/changes.ts';
import type { NewJob } from './ports/job-queue.ts';
import type { RolledBackTransactions } from './ports/stores.ts';

/** Runs operations without effect, until it ends. */
export interface DryRun {
  /** The same operation without effect. */
  of<Input, Output>(operation: Operation<Input, Output>): Operation<Input, Output>;
  /** Rolls everything back. Never rejects. */
  end(): Promise<void>;
}

/** Does a job of a dry run, where its result is a part of the answer. */
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

  /** Throws `service_unavailable` when as many are open as may be. */
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

/** What a cache would keep may be of this transaction only. */
function uncached<Value>(_kind: unknown, load: (id: string) => Promise<Value>): Cache<Value> {
  return { get: load, renew: load };
}
