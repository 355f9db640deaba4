import type { Knex } from 'knex';
import * as baseline from './0001_baseline.ts';
import * as dataCopy from './0002_data_copy.ts';
import { takeOver } from './take-over.ts';

/** One step of the schema. A step never changes once released; later ones stand below earlier ones. */
export interface Migration {
  readonly name: string;
  readonly up: (knex: Knex) => Promise<void>;
  readonly down: (knex: Knex) => Promise<void>;
  /** A step that builds indexes while the gateway serves runs in no transaction, and can be run again from its start. */
  readonly config?: { readonly transaction: boolean };
}

/** In the order of their names: four digits, which only grow, and what the step changes. */
export const migrations: readonly Migration[] = [
  { name: '0001_baseline', up: baseline.up, down: baseline.down },
  { name: '0002_data_copy', up: dataCopy.up, down: dataCopy.down },
];

/** Records the baseline as done in a database that was made before it. Throws an error that says what to do where it is too old. */
export const takeOverOld = (knex: Knex): Promise<void> =>
  takeOver(knex, '0001_baseline', [baseline.COUNT_BLOCKS, baseline.REFUSE_BATCH]);
