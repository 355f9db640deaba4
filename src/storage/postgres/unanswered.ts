import type { Socket } from 'node:net';
import type pg from 'pg';

/** pg's types tell less of its client than pg does. */
type DriverClient = pg.Client & {
  /** False from when something is asked until all of it has been answered. */
  readonly readyForQuery: boolean;
  readonly connection: { readonly stream: Socket };
};

class Unanswered extends Error {
  /** What a network says that lost an answer. */
  readonly code = 'ETIMEDOUT';
}

/** Whether a statement got no answer in time; its connection is of no use any more. */
export const isUnanswered = (error: unknown): boolean =>
  error instanceof Unanswered || (error instanceof Error && error.cause instanceof Unanswered);

/**
 * Ends a connected client's connection where something was asked and nothing has come for `timeoutMs`; all that was asked
 * fails with an error that `isUnanswered` knows. 0 is for never. The driver's own limit would make a timer for each query.
 */
export function endWhenUnanswered(client: pg.Client, timeoutMs: number): void {
  const driver = client as DriverClient;
  const { stream } = driver.connection;
  stream.setTimeout(timeoutMs);
  stream.on('timeout', () => {
    if (!driver.readyForQuery) stream.destroy(new Unanswered('PostgreSQL does not answer'));
  });
}
