import { isNativeError } from 'node:util/types';
import { type DomainError, serviceUnavailable } from '../domain/errors.ts';

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
 * The `service_unavailable` that an error stands for when PostgreSQL cannot be reached, is shutting down or is
 * out of connections; undefined for any other error.
 */
export function databaseFault(error: unknown): DomainError | undefined {
  // An error of Node's own is no `instanceof Error` in another realm, such as a test's.
  if (!isNativeError(error)) return undefined;
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  const unreachable =
    NETWORK_CODES.has(code) ||
    // The socket is gone; any other file is another matter.
    (code === 'ENOENT' && 'syscall' in error && error.syscall === 'connect') ||
    // 25006: the server has become a standby.
    /^(08|57P0|53|25006)/.test(code) ||
    error.name === 'KnexTimeoutError' ||
    /^Connection terminated|^Unable to acquire a connection|^timeout expired|^Client has encountered a connection error|not queryable|timeout exceeded when trying to connect/.test(
      error.message,
    );
  return unreachable
    ? serviceUnavailable('The database cannot be reached at the moment. Try again.')
    : undefined;
}
