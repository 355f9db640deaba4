import { isNativeError } from 'node:util/types';
import {
  type DomainError,
  outcomeUnknown,
  serviceUnavailable,
  type UnavailableReason,
} from '../../domain/errors.ts';
import { isUndecided } from './pipeline.ts';
import { isUnanswered } from './unanswered.ts';

/** Codes of lost connections and failed lookups. Every error of a connect counts too. */
const NETWORK_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ENOTFOUND',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'EAI_AGAIN',
]);

/** Canceled by a timeout: statement_timeout, lock_timeout, or those of idle and long transactions. */
const OUT_OF_TIME = /^(57014|55P03|25P0[34])$/;
/** PostgreSQL canceled this transaction because of a conflict (deadlock, serialization failure). */
const GAVE_WAY = /^(40P01|40001)$/;

/** The driver's messages for a lost connection, which have no code. Knex puts its statement before them. */
const UNREACHABLE =
  /(^| - )(Connection terminated|Unable to acquire a connection|timeout expired|Client has encountered a connection error)|not queryable|timeout exceeded when trying to connect/;

/** True if PostgreSQL is unreachable, shutting down, a standby, or out of connections. */
export function isUnreachable(error: unknown): boolean {
  // An error of Node in another realm, such as a test's, is no `instanceof Error`.
  if (!isNativeError(error)) return false;
  const code = codeOf(error);
  return (
    NETWORK_CODES.has(code) ||
    // Such as ENETUNREACH; for a local socket ENOENT when it is gone, and EAGAIN when too many wait.
    ('syscall' in error && error.syscall === 'connect') ||
    // 25006: the server has become a standby.
    /^(08|57P0|53|25006)/.test(code) ||
    error.name === 'KnexTimeoutError' ||
    (code === '' && UNREACHABLE.test(error.message))
  );
}

/**
 * The `service_unavailable` for an error that means PostgreSQL cannot serve now, and the request can be retried (R3);
 * `outcome_unknown` if it may have been done; undefined for any other error. A statement in a failed transaction
 * (25P02) is a bug of the gateway and must be visible.
 */
export function databaseFault(error: unknown): DomainError | undefined {
  if (isUndecided(error)) return outcomeUnknown(undefined, error);
  const kind = faultKind(error);
  return kind && serviceUnavailable(MESSAGES[kind], 1, kind, error);
}

type FaultKind = Extract<UnavailableReason, `database_${string}`>;

/** Messages for callers: that they may retry, without what only the operator can fix. */
const MESSAGES: Readonly<Record<FaultKind, string>> = {
  database_unreachable: 'The database cannot be reached at the moment. Try again.',
  database_silent: 'The database does not answer at the moment. Try again.',
  database_full: 'The database has no room for this at the moment. Try again.',
  database_disk: 'The database cannot store this at the moment. Try again.',
  database_read_only: 'The database takes no changes at the moment. Try again.',
  database_connections: 'The database has no connection free at the moment. Try again.',
  database_memory: 'The database has no memory for this at the moment. Try again.',
  database_busy: 'The database is too busy for this at the moment. Try again.',
};

/** PostgreSQL's codes of a server that is reachable but cannot serve. */
const KINDS: Readonly<Record<string, FaultKind>> = {
  '53100': 'database_full',
  '25006': 'database_read_only',
  '53300': 'database_connections',
  '53200': 'database_memory',
  // An I/O error of the disk.
  '58030': 'database_disk',
};
/** PostgreSQL has no code for a full quota: it reports an internal error or one of permissions. */
const OVER_QUOTA = /disk quota exceeded/i;
const READ_ONLY_DISK = /read-only file system/i;

function faultKind(error: unknown): FaultKind | undefined {
  if (isUnanswered(error)) return 'database_silent';
  const code = codeOf(error);
  const kind = KINDS[code];
  if (kind) return kind;
  if (code === 'XX000' && OVER_QUOTA.test((error as Error).message)) return 'database_full';
  if ((code === '42501' || code === 'XX000') && READ_ONLY_DISK.test((error as Error).message))
    return 'database_disk';
  if (isUnreachable(error)) return 'database_unreachable';
  return OUT_OF_TIME.test(code) || GAVE_WAY.test(code) ? 'database_busy' : undefined;
}

/**
 * True if items that failed together may be retried one by one: not if the database serves nobody, because each would
 * wait as long.
 */
export function mayPassAlone(error: unknown): boolean {
  return databaseFault(error) === undefined || GAVE_WAY.test(codeOf(error));
}

function codeOf(error: unknown): string {
  return isNativeError(error) && 'code' in error && typeof error.code === 'string' ? error.code : '';
}
