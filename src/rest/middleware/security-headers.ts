import type { ServerResponse } from 'node:http';

/** A year: browsers that have been here over HTTPS come over nothing else until then. */
const HSTS = 'max-age=31536000';

/** What every answer says, an error and a redirect too: nothing is taken for another type than it says, and production is HTTPS only. */
export function safetyHeaders(isProduction: boolean): Readonly<Record<string, string>> {
  const nosniff = { 'X-Content-Type-Options': 'nosniff' };
  return isProduction ? { ...nosniff, 'Strict-Transport-Security': HSTS } : nosniff;
}

type WriteHead = (this: ServerResponse, status: number, ...rest: unknown[]) => ServerResponse;

/**
 * Adds `always` to every answer that has this prototype, whoever writes it. They go out with those that `writeHead` is
 * given, since headers that are set one by one cost Node twice as much.
 */
export function addToEveryAnswer(prototype: ServerResponse, always: Readonly<Record<string, string>>): void {
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
