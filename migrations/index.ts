import type { Knex } from 'knex';
import * as foundation from './20261121000000_foundation.ts';

/** One step of the schema. A step never changes once released; later ones stand below earlier ones. */
export interface Migration {
  readonly name: string;
  readonly up: (knex: Knex) => Promise<void>;
  readonly down: (knex: Knex) => Promise<void>;
}

export const migrations: readonly Migration[] = [{ name: '20261121000000_foundation', ...foundation }];
