import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { connect } from 'node:net';

export interface RawAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** The parsed JSON body. It is `any` so that tests can read every member. */
  // biome-ignore lint/suspicious/noExplicitAny: a test reads whatever the answer holds
  readonly body: any;
}

/** Sends one request with exactly this path and these headers. A header with an array is sent once for each value. */
export function rawRequest(
  url: string,
  options: {
    readonly method: string;
    readonly path: string;
    readonly headers?: Readonly<Record<string, string | readonly string[]>>;
    readonly body?: Buffer | string;
    readonly isChunked?: boolean;
    readonly localAddress?: string;
  },
): Promise<RawAnswer> {
  const body = options.body === undefined ? undefined : Buffer.from(options.body);
  const { hostname, port } = peerOf(url);
  return new Promise((resolve, reject) => {
    const request = httpRequest(
      {
        hostname,
        port,
        method: options.method,
        path: options.path,
        localAddress: options.localAddress,
        agent: false,
      },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString('utf8');
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            text,
            body: response.headers['content-type']?.startsWith('text/csv') ? text : text && JSON.parse(text),
          });
          // The server has stopped reading the upload.
          request.destroy();
        });
      },
    );
    request.on('error', reject);
    for (const [name, value] of Object.entries(options.headers ?? {})) {
      const values = (typeof value === 'string' ? [value] : value).map((text) =>
        Buffer.from(text).toString('latin1'),
      );
      request.setHeader(name, values.length === 1 ? String(values[0]) : values);
    }
    if (body && !options.isChunked) request.setHeader('Content-Length', body.length);
    if (body && options.isChunked) request.setHeader('Transfer-Encoding', 'chunked');
    request.end(body);
  });
}

/** Longest time in ms until the first byte of an answer arrives. */
const PATIENCE_MS = 60_000;

/**
 * Sends bytes on a plain socket. Returns all received bytes when the server closes the connection or sends nothing for
 * `quietMs`.
 */
export function rawExchange(
  url: string,
  bytes: string,
  { quietMs = 1_500, drip }: { readonly quietMs?: number; readonly drip?: () => string | undefined } = {},
): Promise<{ text: string; isClosed: boolean; seconds: number }> {
  const { hostname, port } = peerOf(url);
  const startedAt = performance.now();
  return new Promise((resolve) => {
    const socket = connect({ host: hostname, port: Number(port) });
    let text = '';
    const settle = (isClosed: boolean) => {
      clearTimeout(quiet);
      clearInterval(dripping);
      socket.destroy();
      resolve({ text, isClosed, seconds: (performance.now() - startedAt) / 1000 });
    };
    let quiet = setTimeout(() => settle(false), PATIENCE_MS);
    const dripping = drip && setInterval(() => socket.write(drip() ?? ''), 1_000);
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
      clearTimeout(quiet);
      quiet = setTimeout(() => settle(false), quietMs);
    });
    socket.on('end', () => settle(true));
    socket.on('close', () => settle(true));
    socket.on('error', () => undefined);
    socket.write(Buffer.from(bytes, 'latin1'));
  });
}

/** Returns the host and port of a URL. Node needs an IPv6 address without its brackets. */
function peerOf(url: string): { hostname: string; port: string } {
  const { hostname, port } = new URL(url);
  return { hostname: hostname.replace(/^\[|\]$/g, ''), port };
}
