import type { IncomingMessage } from 'node:http';

/** A request's header by its name in small letters; what came more than once is joined with commas. */
export function headerOf(request: IncomingMessage, name: string): string | undefined {
  const value = request.headers[name];
  return Array.isArray(value) ? value.join() : value;
}
