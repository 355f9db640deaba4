import type { Knex } from 'knex';

/**
 * Everybody waits behind one who waits for a whole table, and perhaps in a ring: so it waits shortly, and each time a
 * little longer. After a second the server stops a vacuum that is in the way by itself.
 */
const WAIT_MS = 100;
const TRIES = 60;
/** A lock that did not come, and one that somebody waited for who had locked the tables the other way round. */
const IN_THE_WAY = ['55P03', '40P01'];

/** Runs `statements` in a transaction that soon gives up waiting for its locks, and tries again. */
export async function soon(knex: Knex, statements: string): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      await knex.transaction((inside) =>
        inside.raw(`SET LOCAL lock_timeout = ${WAIT_MS * tries}; ${statements}`),
      );
      return;
    } catch (error) {
      if (!IN_THE_WAY.includes((error as { code?: string }).code ?? '') || tries === TRIES) throw error;
    }
  }
}
