import type { Socket } from 'node:net';
import type pg from 'pg';

/** The types of `pg` omit these members of its client. */
type DriverClient = pg.Client & {
  /** False while a statement that was sent has no answer. */
  readonly readyForQuery: boolean;
  readonly connection: { readonly stream: Socket };
};

class Unanswered extends Error {
  /** The same code as for an answer that the network lost. */
  readonly code = 'ETIMEDOUT';
}

/** True if a statement got no answer in time. Its connection is useless then. */
export const isUnanswered = (error: unknown): boolean =>
  error instanceof Unanswered || (error instanceof Error && error.cause instanceof Unanswered);

/**
 * Closes a connection if a statement waits for its answer and nothing has arrived for `timeoutMs`. All statements on it
 * then fail with an error that `isUnanswered` recognises. 0 disables the limit. The driver's own timeout would set a
 * timer for each query.
 */
export function endWhenUnanswered(client: pg.Client, timeoutMs: number): void {
  const driver = client as DriverClient;
  const { stream } = driver.connection;
  stream.setTimeout(timeoutMs);
  stream.on('timeout', () => {
    if (!driver.readyForQuery) stream.destroy(new Unanswered('PostgreSQL does not answer'));
  });
}
