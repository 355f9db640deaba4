import { isNativeError } from 'node:util/types';
import {
  accountMoved,
  accountMoving,
  type DomainError,
  outcomeUnknown,
  serviceUnavailable,
  type UnavailableReason,
} from '../../domain/errors.ts';
import { isUndecided } from './pipeline.ts';
import { isUnanswered } from './unanswered.ts';

/** Error codes of lost connections and failed name lookups. Any error of a connect counts as unreachable, too. */
const NETWORK_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ENOTFOUND',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'EAI_AGAIN',
]);

/**
 * Codes of statements that a timeout canceled: statement_timeout, lock_timeout, or the limits for idle and long
 * transactions.
 */
const OUT_OF_TIME = /^(57014|55P03|25P0[34])$/;
/** Codes that triggers raise for rows of an account that is being moved to another cell, or has been (R503, R507). */
const MOVING = 'MG002';
const MOVED = 'MG003';
/** Codes of transactions that PostgreSQL canceled because of a conflict: deadlock or serialization failure. */
const GAVE_WAY = /^(40P01|40001)$/;

/** The driver's messages for a lost connection, which have no code. Knex puts its statement before the message. */
const UNREACHABLE =
  /(^| - )(Connection terminated|Unable to acquire a connection|timeout expired|Client has encountered a connection error)|not queryable|timeout exceeded when trying to connect/;

/** True if PostgreSQL is unreachable, shutting down, a standby, or out of connections. */
export function isUnreachable(error: unknown): boolean {
  // In tests, Node's errors come from another realm (JavaScript context). So `instanceof Error` is false for them.
  if (!isNativeError(error)) return false;
  const code = codeOf(error);
  return (
    NETWORK_CODES.has(code) ||
    // Every failed connect, whatever its code: ENETUNREACH, or for a local socket ENOENT (socket missing) and EAGAIN
    // (too many clients wait).
    ('syscall' in error && error.syscall === 'connect') ||
    // 25006: the server has become a standby.
    /^(08|57P0|53|25006)/.test(code) ||
    error.name === 'KnexTimeoutError' ||
    (code === '' && UNREACHABLE.test(error.message))
  );
}

/**
 * True if an error of a new connection means that no primary can be reached. A server that has no connection or no memory
 * free is the primary all the same.
 */
export function isWithoutPrimary(error: unknown): boolean {
  return isUnreachable(error) && !codeOf(error).startsWith('53');
}

/**
 * Translates an error of the database for callers. Returns `service_unavailable` if PostgreSQL cannot serve now and the
 * request can be retried (R3). Returns `outcome_unknown` if the change may have been committed. Returns undefined for
 * any other error. A statement in a failed transaction (25P02) is such an error: a bug of the gateway, which must be
 * visible.
 */
export function databaseFault(error: unknown): DomainError | undefined {
  if (isUndecided(error)) return outcomeUnknown(undefined, error);
  const code = codeOf(error);
  if (code === MOVING) return accountMoving(error);
  if (code === MOVED) return accountMoved(error);
  const kind = faultKind(error);
  return kind && serviceUnavailable(MESSAGES[kind], 1, kind, error);
}

type FaultKind = Extract<UnavailableReason, `database_${string}`>;

/** Messages for callers. They can only retry, so details that the operator must fix are left out. */
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

/** PostgreSQL's codes for a server that is reachable but cannot serve. */
const KINDS: Readonly<Record<string, FaultKind>> = {
  '53100': 'database_full',
  '25006': 'database_read_only',
  '53300': 'database_connections',
  '53200': 'database_memory',
  // An I/O error of the disk.
  '58030': 'database_disk',
};
/** PostgreSQL has no code for a full disk quota. It reports an internal error with the system's text. */
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
 * True if the items of a failed batch should be retried one by one. False if the database serves nobody: each retry
 * would fail after the same wait.
 */
export function mayPassAlone(error: unknown): boolean {
  return (
    databaseFault(error) === undefined || /^MG00[23]$/.test(codeOf(error)) || GAVE_WAY.test(codeOf(error))
  );
}

function codeOf(error: unknown): string {
  return isNativeError(error) && 'code' in error && typeof error.code === 'string' ? error.code : '';
}
