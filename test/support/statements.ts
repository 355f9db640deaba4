import pg from 'pg';
import { presentRequest } from '../../src/runtime/request-scope.ts';

/** Statements that prepare a new connection of a pool, whoever asked for it. */
const NEW_CONNECTION = /^SET plan_cache_mode|pg_backend_pid|^select version\(\)/i;

/**
 * Names of statements of requests that tests do not count. They begin and end transactions and jobs, or are sent
 * together with further statements, and so take no round trip. The clock's statement is sent every few seconds, by
 * whoever comes first.
 */
const ASIDE = new Set([
  ...['begin', 'commit', 'no-wait', 'on-disk', 'read-on-disk', 'notify', 'clock-now'],
  ...['job-leases-hold', 'job-leases-end', 'job-leases-leave', 'rate-limit-take', 'query-points-take'],
]);

/** Statements of health checks. The HAProxy of tests of cells asks for health between the requests of a test. */
const HEALTH = /^(heartbeat|copy-read)|pgboss\.version/;

export interface StatementCounter extends Disposable {
  /** The statements that this process sent. Periodic tasks, workers and the test itself send some, too. */
  texts(): string[];
  /** The statements that requests to a test gateway sent, without those that tests do not count. */
  ofRequests(): string[];
}

/** Records the SQL statements that this process sends from now on, until it is disposed. */
export function countStatements(): StatementCounter {
  const sent: { readonly text: string; readonly isOfRequest: boolean }[] = [];
  const original = pg.Query.prototype.submit;
  // Statements that are sent together are also recorded one by one.
  pg.Query.prototype.submit = function (this: { readonly name?: string; readonly text: string }, ...given) {
    const { name = '', text } = this;
    const isCounted = !ASIDE.has(name) && !HEALTH.test(name || text) && !NEW_CONNECTION.test(text);
    sent.push({ text, isOfRequest: isCounted && presentRequest() !== undefined });
    return original.apply(this as unknown as pg.Query, given);
  };
  return {
    texts: () => sent.map(({ text }) => text),
    ofRequests: () => sent.filter(({ isOfRequest }) => isOfRequest).map(({ text }) => text),
    [Symbol.dispose]() {
      pg.Query.prototype.submit = original;
    },
  };
}
