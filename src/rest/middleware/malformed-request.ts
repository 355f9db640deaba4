import { randomUUID } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';

/** HTTP statuses for error codes of Node's HTTP parser and timeouts. All other codes mean 400. */
const STATUS_OF: Readonly<Record<string, number>> = {
  HPE_HEADER_OVERFLOW: 431,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
};
const MESSAGE_OF: Readonly<Record<number, string>> = {
  400: 'This is not a valid HTTP request.',
  404: 'This gateway is not a proxy.',
  408: 'The request did not arrive in time.',
  431: 'The headers of the request are too large.',
};

/** Returns the HTTP status for an error of Node's HTTP parser. */
export function statusOfParserError(error: Error): number {
  return ('code' in error && STATUS_OF[String(error.code)]) || 400;
}

/**
 * Answers a request that Node could not parse. Writes to the plain socket, with an error body of shape B (R169) and the
 * headers of every answer (R4). Then closes the socket, because the bytes that follow may be anything.
 */
export function answerMalformed(
  socket: Duplex,
  status: number,
  headers: Readonly<Record<string, string>>,
): void {
  const code = status === 404 ? 'not_found' : 'validation_error';
  const body = JSON.stringify({ error: { code, message: MESSAGE_OF[status] } });
  const lines = Object.entries({
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': String(Buffer.byteLength(body)),
    Connection: 'close',
    'X-Request-Id': randomUUID(),
    'Cache-Control': 'no-store',
    ...headers,
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`, () =>
    socket.destroy(),
  );
}
