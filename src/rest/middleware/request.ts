import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { type FieldFault, validationError } from '../../domain/errors.ts';

const REQUEST_ID = /^[A-Za-z0-9._-]{1,64}$/;

/** Returns the client's `X-Request-Id` if it is valid, or else a new id (R4). */
export function requestIdOf(request: IncomingMessage): string {
  const given = request.headers['x-request-id'];
  return typeof given === 'string' && REQUEST_ID.test(given) ? given : randomUUID();
}

/** Returns a header by its lower-case name. Repeated headers are joined with commas. */
export function headerOf(request: IncomingMessage, name: string): string | undefined {
  const value = request.headers[name];
  return Array.isArray(value) ? value.join() : value;
}

/**
 * Throws `validation_error` for text that PostgreSQL cannot store unchanged: U+0000 and lone surrogates (R5). Pass the
 * value that the schema returned: it does not contain the fields that the API ignores.
 */
export function checkText(value: unknown): void {
  const fault = findTextFault(value);
  if (fault) throw validationError([fault]);
}

/** Returns the first text in `value` that cannot be stored, with its path. */
export function findTextFault(value: unknown): FieldFault | undefined {
  if (typeof value === 'string') {
    const message = faultOf(value);
    return message === undefined ? undefined : { path: '', message };
  }
  if (typeof value !== 'object' || value === null) return undefined;
  for (const name of Object.keys(value)) {
    const message = faultOf(name);
    if (message !== undefined) return { path: '', message: `has a member whose name ${message}` };
    const fault = findTextFault((value as Readonly<Record<string, unknown>>)[name]);
    if (fault) return { ...fault, path: fault.path === '' ? name : `${name}.${fault.path}` };
  }
  return undefined;
}

function faultOf(text: string): string | undefined {
  if (text.includes('\0')) return 'must not contain U+0000';
  return text.isWellFormed() ? undefined : 'must not contain a lone surrogate, which is not valid Unicode';
}
