/** An HTTP/2 connection to APNs. It is opened when needed and replaced when it ends. */
import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants } from 'node:http2';

export interface ApnsAnswer {
  readonly kind: 'answer';
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: unknown;
}
export type ApnsExchange =
  | ApnsAnswer
  | {
      readonly kind: 'failure';
      readonly asked: boolean;
      readonly reason: string;
      readonly definitelyNotSent: boolean;
    };

export interface ApnsSessionOptions {
  readonly baseUrl: string;
  /** Time limit in ms for a whole exchange, including connecting. */
  readonly timeoutMs: number;
  /** Further trusted certificates, as PEM. */
  readonly ca?: string | undefined;
}

const MAX_ANSWER_BYTES = 16 * 1024;
const STOPPING_MS = 5_000;

export class ApnsSession {
  readonly #options: ApnsSessionOptions;
  #session: ClientHttp2Session | undefined;
  #isClosed = false;

  constructor(options: ApnsSessionOptions) {
    this.#options = options;
  }

  /** POSTs a request and reads the answer. Never rejects. */
  post(path: string, headers: Readonly<Record<string, string>>, body: string): Promise<ApnsExchange> {
    if (this.#isClosed)
      return Promise.resolve({
        kind: 'failure',
        asked: false,
        reason: 'the gateway is stopping',
        definitelyNotSent: true,
      });
    return new Promise((resolve) => {
      const session = this.#open();
      let stream: ClientHttp2Stream;
      try {
        stream = session.request({ ':method': 'POST', ':path': path, ...headers });
      } catch (error) {
        this.#drop(session);
        resolve(failureOf(error, true));
        return;
      }
      let answer: Record<string, unknown> = {};
      const chunks: Buffer[] = [];
      let length = 0;
      const timer = setTimeout(() => {
        // This connection gave no answer, so do not use it again.
        this.#drop(session);
        const reason = `no answer within ${this.#options.timeoutMs / 1000} s`;
        resolve({ kind: 'failure', asked: true, reason, definitelyNotSent: session.connecting });
        stream.close(constants.NGHTTP2_CANCEL);
        session.destroy();
      }, this.#options.timeoutMs);
      stream.on('response', (received) => {
        answer = received;
      });
      stream.on('data', (chunk: Buffer) => {
        length += chunk.length;
        if (length <= MAX_ANSWER_BYTES) chunks.push(chunk);
      });
      stream.on('error', (error) => {
        clearTimeout(timer);
        // The server has certainly not processed a refused stream (RFC 9113, 8.7).
        resolve(failureOf(error, stream.rstCode === constants.NGHTTP2_REFUSED_STREAM || session.connecting));
      });
      stream.on('close', () => {
        clearTimeout(timer);
        const status = Number(answer[':status']);
        resolve(
          Number.isInteger(status)
            ? { kind: 'answer', status, headers: answer, body: parsed(Buffer.concat(chunks)) }
            : failureOf(undefined, stream.rstCode === constants.NGHTTP2_REFUSED_STREAM || session.connecting),
        );
      });
      stream.end(body);
    });
  }

  /** Waits a few seconds for requests in flight, then closes the connection. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const session = this.#session;
    if (!session || session.destroyed) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(() => session.destroy(), STOPPING_MS);
      session.once('close', () => {
        clearTimeout(timer);
        resolve();
      });
      session.close();
    });
  }

  #open(): ClientHttp2Session {
    const known = this.#session;
    if (known && !known.closed && !known.destroyed) return known;
    const session = connect(
      this.#options.baseUrl,
      this.#options.ca === undefined ? {} : { ca: this.#options.ca },
    );
    this.#session = session;
    // Nothing else to do here: each stream reports the end of the connection itself.
    session.on('error', () => this.#drop(session));
    session.on('goaway', () => this.#drop(session));
    return session;
  }

  #drop(session: ClientHttp2Session): void {
    if (this.#session === session) this.#session = undefined;
    if (!session.closed && !session.destroyed) session.close();
  }
}

function failureOf(error: unknown, definitelyNotSent: boolean): ApnsExchange {
  const codeIn = (fault: unknown) =>
    fault instanceof Error && 'code' in fault ? String(fault.code) : 'closed';
  // Node's code for a stream that could not open because the connection ended.
  const isUnopened = codeIn(error) === 'ERR_HTTP2_STREAM_CANCEL';
  const code = isUnopened && error instanceof Error && error.cause ? codeIn(error.cause) : codeIn(error);
  const isUnreachable =
    /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO)/.test(
      code,
    );
  const words = isUnreachable ? 'it cannot be reached' : 'the connection broke';
  return {
    kind: 'failure',
    asked: true,
    reason: `${words} (${code})`,
    definitelyNotSent: definitelyNotSent || isUnopened || isUnreachable,
  };
}

function parsed(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    return undefined;
  }
}
