import pg from 'pg';

/** What the queue, the listener and the periodic tasks ask is no part of a request. */
const BACKGROUND =
  /gateway_|pgboss|_deltas RETURNING|deliveries = 0|uncounted|unmatched_reports u|sweep|provider_health|INTO api_key_scope_uses|NOTIFY|LISTEN|job|advisory|^SELECT 1$|^BEGIN$|COMMIT$/i;

/** What is done for retention and to forget what is past its time, by the names of the statements. */
const FORGETTING = /^retention-|-forget|-abandon/;

/** Records the SQL statements that this process sends from now on, until it is disposed. */
export function countStatements(): Disposable & { texts(): string[] } {
  const texts: string[] = [];
  const original = pg.Client.prototype.query;
  pg.Client.prototype.query = function (this: pg.Client, ...given: unknown[]) {
    const [first] = given as [string | { name?: string; text?: string } | undefined];
    const { name = '', text = '' } = typeof first === 'string' ? { text: first } : (first ?? {});
    if (!BACKGROUND.test(text) && !FORGETTING.test(name)) texts.push(text);
    return (original as (...args: unknown[]) => unknown).apply(this, given);
  } as typeof original;
  return {
    texts: () => texts,
    [Symbol.dispose]() {
      pg.Client.prototype.query = original;
    },
  };
}
