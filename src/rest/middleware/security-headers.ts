import type { ServerResponse } from 'node:http';

/** Strict-Transport-Security for one year. The number is in seconds. */
const HSTS = 'max-age=31536000';

/**
 * Returns the headers of every answer, also of errors and redirects. They forbid browsers to guess the content type. In
 * production they also tell browsers to use HTTPS only.
 */
export function securityHeaders(isProduction: boolean): Readonly<Record<string, string>> {
  const nosniff = { 'X-Content-Type-Options': 'nosniff' };
  return isProduction ? { ...nosniff, 'Strict-Transport-Security': HSTS } : nosniff;
}

type WriteHead = (this: ServerResponse, status: number, ...rest: unknown[]) => ServerResponse;

/**
 * Adds `headers` to every response with this prototype. They are passed to `writeHead` together with the response's own
 * headers, because setting headers one by one takes Node twice as long.
 */
export function addToEveryResponse(
  prototype: ServerResponse,
  always: Readonly<Record<string, string>>,
): void {
  const writeHead = prototype.writeHead as WriteHead;
  const names = Object.keys(always);
  const withAll: WriteHead = function (status, ...rest) {
    const given = rest.at(-1);
    if (typeof given === 'object' && given !== null && !Array.isArray(given)) {
      return writeHead.call(this, status, ...rest.slice(0, -1), { ...always, ...given });
    }
    for (const name of names) this.setHeader(name, always[name] as string);
    return writeHead.call(this, status, ...rest);
  };
  prototype.writeHead = withAll as ServerResponse['writeHead'];
}
