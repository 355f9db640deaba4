import { type DomainError, serviceUnavailable } from '../domain/errors.ts';

const NETWORK_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ENOENT',
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
  if (!(error instanceof Error)) return undefined;
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  const unreachable =
    NETWORK_CODES.has(code) ||
    /^(08|57P0|53)/.test(code) ||
    error.name === 'KnexTimeoutError' ||
    /^Connection terminated|^timeout expired|^Client has encountered a connection error|not queryable|timeout exceeded when trying to connect/.test(
      error.message,
    );
  return unreachable ? serviceUnavailable('The database cannot be reached at the moment. Try again.') : undefined;
}
