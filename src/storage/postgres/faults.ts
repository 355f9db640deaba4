import { isNativeError } from 'node:util/types';
import {
  type DomainError,
  outcomeUnknown,
  serviceUnavailable,
  type UnavailableReason,
} from '../../domain/errors.ts';
import { isUndecided } from './pipeline.ts';
import { isUnanswered } from './unanswered.ts';

/** What ends a connection, or the search for where it goes; whatever a connect fails with counts besides. */
const NETWORK_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ENOTFOUND',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'EAI_AGAIN',
]);

/** Canceled, as by statement_timeout; no lock within lock_timeout; a transaction that was idle or lasted for too long. */
const OUT_OF_TIME = /^(57014|55P03|25P0[34])$/;
/** Of transactions that stand in each other's way (deadlock, serialization failure) PostgreSQL gave this one up. */
const GAVE_WAY = /^(40P01|40001)$/;

/** The driver's own words for it, which have no code; Knex puts the statement of its builder before them. */
const UNREACHABLE =
  /(^| - )(Connection terminated|Unable to acquire a connection|timeout expired|Client has encountered a connection error)|not queryable|timeout exceeded when trying to connect/;

/** Whether an error says that PostgreSQL cannot be reached, is shutting down, is a standby or is out of connections. */
export function isUnreachable(error: unknown): boolean {
  // An error of Node's own is no `instanceof Error` in another realm, such as a test's.
  if (!isNativeError(error)) return false;
  const code = codeOf(error);
  return (
    NETWORK_CODES.has(code) ||
    // Such as ENETUNREACH, and of a local socket ENOENT when it is gone and EAGAIN when too many wait there.
    ('syscall' in error && error.syscall === 'connect') ||
    // 25006: the server has become a standby.
    /^(08|57P0|53|25006)/.test(code) ||
    error.name === 'KnexTimeoutError' ||
    (code === '' && UNREACHABLE.test(error.message))
  );
}

/**
 * The `service_unavailable` that an error stands for when PostgreSQL cannot serve now, and the same may be asked again
 * (R3); `outcome_unknown` where it may have been done; undefined for any other error. What is asked in a transaction that has failed (25P02) is a fault of the
 * gateway's own, which must be seen.
 */
export function databaseFault(error: unknown): DomainError | undefined {
  if (isUndecided(error)) return outcomeUnknown(undefined, error);
  const kind = faultKind(error);
  return kind && serviceUnavailable(MESSAGES[kind], 1, kind, error);
}

type FaultKind = Extract<UnavailableReason, `database_${string}`>;

/** What callers are told: that they may try again, and nothing that only the operator can do something about. */
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

/** PostgreSQL's own codes of a server that is there and cannot serve. */
const KINDS: Readonly<Record<string, FaultKind>> = {
  '53100': 'database_full',
  '25006': 'database_read_only',
  '53300': 'database_connections',
  '53200': 'database_memory',
  // An error of the disk below a file of the database.
  '58030': 'database_disk',
};
/** It has no code of its own for these: they come as an internal error, or as one of permissions. */
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

/** Whether what failed together may pass one by one: not where the database serves nobody, or each would wait as long. */
export function mayPassAlone(error: unknown): boolean {
  return databaseFault(error) === undefined || GAVE_WAY.test(codeOf(error));
}

function codeOf(error: unknown): string {
  return isNativeError(error) && 'code' in error && typeof error.code === 'string' ? error.code : '';
}
