import pg from 'pg';

/** Statements that no request sends: of the queue, the listener, periodic tasks and new connections. */
const BACKGROUND =
  /gateway_|pgboss|_deltas RETURNING|deliveries = 0|unmatched_reports u|sweep|provider_health|INTO api_key_scope_uses|INTO api_key_requests|audit_head|INTO audit_entries|INTO api_request_days|FROM request_logging\s+WHERE account_id = ANY|FROM data_copy|NOTIFY|LISTEN|job|advisory|^SET plan_cache_mode|^SELECT 1$|^SELECT DISTINCT to_database_sealed|^SELECT pg_wal_lsn_diff\(pg_current_wal_flush_lsn|pg_backend_pid|^BEGIN$|COMMIT$/i;

/**
 * Names of statements that periodic tasks send. They delete old rows, fold counts, and check or show that a process
 * lives.
 */
const PERIODIC =
  /^(retention|copy|ledger-check|provider-health|rate-limit)-|^alert-(accounts|spend|limits|webhooks|outcomes|ending-keys|rejected-senders)$|-due(-domains)?$|^(analytics|usage)-(fold|lock)|^usage-fold-lock$|-(forget|abandon|sweep)|^api-key-touch$|^heartbeat/;

/**
 * Names of statements that tests do not count. The clock's statement is sent every few seconds. The others are sent
 * together with further statements, and so take no round trip; `no-wait` and `on-disk` belong to a transaction that
 * writes, whose own statements are counted unless it runs in the background.
 */
const ASIDE = ['read-on-disk', 'no-wait', 'on-disk', 'clock-now', 'query-points-take'];

/** Records the SQL statements that this process sends from now on, until it is disposed. */
export function countStatements(): Disposable & { texts(): string[] } {
  const texts: string[] = [];
  const original = pg.Query.prototype.submit;
  // Statements that are sent together are also recorded one by one.
  pg.Query.prototype.submit = function (this: { readonly name?: string; readonly text: string }, ...given) {
    const { name = '', text } = this;
    const isCounted = !BACKGROUND.test(text) && !PERIODIC.test(name) && !ASIDE.includes(name);
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
