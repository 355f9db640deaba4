import type { Knex } from 'knex';
import * as baseline from './0001_baseline.ts';

/** One step of the schema. A step never changes once released; later ones stand below earlier ones. */
export interface Migration {
  readonly name: string;
  readonly up: (knex: Knex) => Promise<void>;
  readonly down: (knex: Knex) => Promise<void>;
  /** Steps that build indexes while others write run outside a transaction, and can be repeated. */
  readonly config?: { readonly transaction: boolean };
}

export const migrations: readonly Migration[] = [{ name: '0001_baseline', ...baseline }];
