import type { Knex } from 'knex';

/** Numbers of a pool's connections at this moment. */
export interface PoolUse {
  readonly used: number;
  readonly idle: number;
  /** Number of transactions and statements that wait for a connection. */
  readonly waiting: number;
  readonly max: number;
}

export function poolUse(knex: Knex): PoolUse {
  const { pool } = knex.client;
  return { used: pool.numUsed(), idle: pool.numFree(), waiting: pool.numPendingAcquires(), max: pool.max };
}
