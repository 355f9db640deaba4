import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { FormattedExecutionResult } from 'graphql';

/** Interval of comments, so that proxies do not close the idle connection, in ms. */
const KEEP_ALIVE_MS = 15_000;
/** A reader that reads nothing for this long is gone, in ms. */
const STALL_MS = 60_000;

/** The bytes around the results of a stream. */
export interface Framing {
  readonly contentType: string;
  /** Written first. */
  readonly opening: string;
  /** Written as a keep-alive. */
  readonly comment: string;
  next(result: FormattedExecutionResult): string;
  /** Written last. */
  readonly complete: string;
}

/** GraphQL over SSE in its distinct connections mode: results as `next` events, then `complete`. */
export const SERVER_SENT_EVENTS: Framing = {
  contentType: 'text/event-stream; charset=utf-8',
  opening: '',
  comment: ':\n\n',
  next: (result) => `event: next\ndata: ${JSON.stringify(result)}\n\n`,
  complete: 'event: complete\ndata:\n\n',
};

/**
 * Apollo's subscriptions over HTTP multipart: one part for each result, and an empty object as keep-alive. Readers
 * parse a part when they see the delimiter after it, so each part is sent with it.
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

/** Where the results of an operation go. */
export interface ResultStream {
  /** Aborts when nobody waits for results any more. */
  readonly closed: AbortSignal;
  /** Tells the client that it misses nothing from now on. */
  open(): void;
  /** Sends a result. Resolves when the client can read another one, or is gone. */
  next(result: FormattedExecutionResult): Promise<void>;
  /** Ends the operation, with a last result if given. */
  complete(last?: FormattedExecutionResult): void;
  /** Cuts the connection, so that the client connects again. */
  breakOff(): void;
}

/** A response with many results. It is written as fast as the client reads: only the socket's buffer holds data. */
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

  /** Starts the stream and tells the client that it misses nothing from now on. */
  open(): void {
    if (this.closed.aborted) return;
    this.#begin();
    // Some browsers report the start of a response only at its first byte.
    this.#response.write(this.#framing.opening + this.#framing.comment);
    this.#keepAlive = setInterval(() => {
      if (!this.#response.writableNeedDrain) this.#response.write(this.#framing.comment);
    }, KEEP_ALIVE_MS);
  }

  /** Aborts when the client is gone or the stream was ended. */
  get closed(): AbortSignal {
    return this.#closed.signal;
  }

  /** Sends a result. Resolves when the client can read another one, or is gone. */
  next(result: FormattedExecutionResult): Promise<void> {
    return this.send(this.#framing.next(result));
  }

  /** Sends text of the framing. Resolves like `next`. */
  async send(text: string): Promise<void> {
    if (this.closed.aborted || this.#response.write(text)) return;
    const stalled = setTimeout(() => this.#response.destroy(), STALL_MS);
    await once(this.#response, 'drain', { signal: this.closed }).catch(() => undefined);
    clearTimeout(stalled);
  }

  /** Ends the stream, with a last result if given, so that the client knows it is complete. */
  complete(last?: FormattedExecutionResult): void {
    this.#end((last ? this.#framing.next(last) : '') + this.#framing.complete);
  }

  /** Cuts the stream, so that the client connects again. */
  breakOff(): void {
    this.#end('');
  }

  #begin(): void {
    // `X-Accel-Buffering` makes nginx pass each result on at once.
    this.#response.writeHead(200, { 'Content-Type': this.#framing.contentType, 'X-Accel-Buffering': 'no' });
  }

  #end(text: string): void {
    if (this.closed.aborted) return;
    this.#close();
    const opening = this.#response.headersSent ? '' : this.#framing.opening;
    if (!this.#response.headersSent) this.#begin();
    // The client has not read earlier data, so it would not read this.
    if (this.#response.writableNeedDrain) this.#response.destroy();
    else this.#response.end(opening + text);
  }

  #close(): void {
    clearInterval(this.#keepAlive);
    this.#closed.abort();
  }
}
