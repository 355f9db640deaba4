import { pino } from 'pino';
import type { Logger } from '../domain/ports/logger.ts';

/**
 * Makes a logger that writes JSON lines to stderr. It logs errors without the values of a failed query, because they
 * may be secret.
 */
export function createLogger(level: string): Logger {
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: describeError },
    },
    pino.destination({ dest: 2, sync: false }),
  );
}

function describeError(error: unknown): object {
  if (!(error instanceof Error)) return { message: String(error) };
  const code = 'code' in error ? { code: error.code } : {};
  // Knex puts the statement and its values before " - " in the message. Keep only the text after it.
  const message =
    error.message.includes(' - ') && 'severity' in error ? error.message.split(' - ').at(-1) : error.message;
  return { type: error.name, message, ...code, stack: error.stack?.split('\n').slice(1, 8).join('\n') };
}
