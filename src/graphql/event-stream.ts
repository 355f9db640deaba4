import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { FormattedExecutionResult } from 'graphql';

/** Interval of keep-alive comments, in ms. They prevent proxies from closing an idle connection. */
const KEEP_ALIVE_MS = 15_000;
/** A client that reads nothing for this time, in ms, is disconnected. */
const STALL_MS = 60_000;

/** The protocol's bytes before, between and after the results of a stream. */
export interface Framing {
  readonly contentType: string;
  /** Bytes at the start of the stream. */
  readonly opening: string;
  /** Bytes that are sent as a keep-alive. */
  readonly comment: string;
  next(result: FormattedExecutionResult): string;
  /** Bytes at the end of the stream. */
  readonly complete: string;
}

/** GraphQL over SSE in distinct connections mode: each result is a `next` event, and the end is a `complete` event. */
export const SERVER_SENT_EVENTS: Framing = {
  contentType: 'text/event-stream; charset=utf-8',
  opening: '',
  comment: ':\n\n',
  next: (result) => `event: next\ndata: ${JSON.stringify(result)}\n\n`,
  complete: 'event: complete\ndata:\n\n',
};

/**
 * Apollo's protocol for subscriptions over HTTP multipart. It sends one part for each result, and an empty object as a
 * keep-alive. A client parses a part only after it has seen the next delimiter. So the delimiter is sent together with
 * the part.
 */
export const MULTIPART_PARTS: Framing = {
  contentType: 'multipart/mixed;boundary="graphql";subscriptionSpec="1.0"',
  opening: '\r\n--graphql',
  comment: partOf({}),
  next: (payload) => partOf({ payload }),
  complete: '--\r\n',
};

function partOf(content: object): string {
  return `\r\nContent-Type: application/json\r\n\r\n${JSON.stringify(content)}\r\n--graphql`;
}

/** Receives the results of an operation. */
export interface ResultStream {
  /** Aborts when the client has disconnected, or when the stream or the operation has ended. */
  readonly closed: AbortSignal;
  /** Tells the client that the subscription has started. From now on it gets every change. */
  open(): void;
  /** Sends a result. Resolves when the client can read another result, or when it has disconnected. */
  next(result: FormattedExecutionResult): Promise<void>;
  /** Ends the operation. Sends `last` before that, if given. */
  complete(last?: FormattedExecutionResult): void;
  /** Closes the connection without an end, so that the client connects again. */
  breakOff(): void;
}

/**
 * An HTTP response with many results. Writes only as fast as the client reads, so that data waits in the socket's
 * buffer only.
 */
export class EventStream implements ResultStream {
  readonly #response: ServerResponse;
  readonly #framing: Framing;
  readonly #closed = new AbortController();
  #keepAlive: NodeJS.Timeout | undefined;

  constructor(response: ServerResponse, framing: Framing) {
    this.#response = response;
    this.#framing = framing;
    response.on('close', () => this.#close());
    response.on('error', () => this.#close());
    if (response.destroyed) this.#close();
  }

  /** Starts the response. From now on the client gets every change. */
  open(): void {
    if (this.closed.aborted) return;
    this.#begin();
    // Send a first byte, because some browsers report the start of a response only then.
    this.#response.write(this.#framing.opening + this.#framing.comment);
    this.#keepAlive = setInterval(() => {
      if (!this.#response.writableNeedDrain) this.#response.write(this.#framing.comment);
    }, KEEP_ALIVE_MS);
  }

  /** Aborts when the client has disconnected, or when the stream or the operation has ended. */
  get closed(): AbortSignal {
    return this.#closed.signal;
  }

  /** Sends a result. Resolves when the client can read another result, or when it has disconnected. */
  next(result: FormattedExecutionResult): Promise<void> {
    return this.send(this.#framing.next(result));
  }

  /** Sends text that is already framed. Resolves like `next`. */
  async send(text: string): Promise<void> {
    if (this.closed.aborted || this.#response.write(text)) return;
    const stalled = setTimeout(() => this.#response.destroy(), STALL_MS);
    await once(this.#response, 'drain', { signal: this.closed }).catch(() => undefined);
    clearTimeout(stalled);
  }

  /** Ends the stream in a way that tells the client that it is complete. Sends `last` before that, if given. */
  complete(last?: FormattedExecutionResult): void {
    this.#end((last ? this.#framing.next(last) : '') + this.#framing.complete);
  }

  /** Ends the stream without the final bytes, so that the client connects again. */
  breakOff(): void {
    this.#end('');
  }

  #begin(): void {
    // With `X-Accel-Buffering: no`, nginx forwards each result at once.
    this.#response.writeHead(200, { 'Content-Type': this.#framing.contentType, 'X-Accel-Buffering': 'no' });
  }

  #end(text: string): void {
    if (this.closed.aborted) return;
    this.#close();
    const opening = this.#response.headersSent ? '' : this.#framing.opening;
    if (!this.#response.headersSent) this.#begin();
    // The client has not read earlier data, so it will not read the end either. Close the connection.
    if (this.#response.writableNeedDrain) this.#response.destroy();
    else this.#response.end(opening + text);
  }

  #close(): void {
    clearInterval(this.#keepAlive);
    this.#closed.abort();
  }
}
