import pg from 'pg';

/** What the queue, the listener, the periodic tasks and new connections ask is no part of a request. */
const BACKGROUND =
  /gateway_|pgboss|_deltas RETURNING|deliveries = 0|unmatched_reports u|sweep|provider_health|INTO api_key_scope_uses|NOTIFY|LISTEN|job|advisory|^SET plan_cache_mode|^SELECT 1$|^BEGIN$|COMMIT$/i;

/** What is done for retention and to forget what is past its time, by the names of the statements. */
const FORGETTING = /^retention-|-forget|-abandon/;

/** Goes along with a read, in the same piece: no way to PostgreSQL of its own. And the clock's, every few seconds. */
const ASIDE = ['read-on-disk', 'clock-now'];

/** Records the SQL statements that this process sends from now on, until it is disposed. */
export function countStatements(): Disposable & { texts(): string[] } {
  const texts: string[] = [];
  const original = pg.Query.prototype.submit;
  // What goes as one with others is submitted for itself, too.
  pg.Query.prototype.submit = function (this: { readonly name?: string; readonly text: string }, ...given) {
    const { name = '', text } = this;
    const isCounted = !BACKGROUND.test(text) && !FORGETTING.test(name) && !ASIDE.includes(name);
    if (isCounted) texts.push(text);
    return original.apply(this as unknown as pg.Query, given);
  };
  return {
    texts: () => texts,
    [Symbol.dispose]() {
      pg.Query.prototype.submit = original;
    },
  };
}
