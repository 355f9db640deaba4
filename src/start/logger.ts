import { pino } from 'pino';
import type { Logger } from '../domain/ports/logger.ts';

/** JSON lines on stderr. Errors are logged without the values of a failed query, which may be secret. */
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
  // Knex puts the statement with its values before " - " in the message.
  const message =
    error.message.includes(' - ') && 'severity' in error ? error.message.split(' - ').at(-1) : error.message;
  return { type: error.name, message, ...code, stack: error.stack?.split('\n').slice(1, 8).join('\n') };
}
