import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { FormattedExecutionResult } from 'graphql';

/** A comment this often keeps proxies from taking the connection for dead. */
const KEEP_ALIVE_MS = 15_000;
/** A reader that takes nothing for this long is gone. */
const STALL_MS = 60_000;

/** How a stream is written. */
export interface Framing {
  readonly contentType: string;
  /** What comes before all else. */
  readonly opening: string;
  /** What says that the stream is there, and nothing else. */
  readonly comment: string;
  next(result: FormattedExecutionResult): string;
  /** What says that nothing more comes. */
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
 * Apollo's subscriptions over HTTP multipart: a part for each result, and an empty object to say that the stream is
 * there. Readers take a part when they see the delimiter behind it, so each is sent with it.
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

/** One answer that goes on. It is written as fast as it is read: the socket's own buffer is all that waits. */
export class EventStream {
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

  /** Begins it: tells whoever asked that nothing is missed from now on. */
  open(): void {
    if (this.closed.aborted) return;
    this.#begin();
    // Some browsers take the answer for begun at its first byte only.
    this.#response.write(this.#framing.opening + this.#framing.comment);
    this.#keepAlive = setInterval(() => {
      if (!this.#response.writableNeedDrain) this.#response.write(this.#framing.comment);
    }, KEEP_ALIVE_MS);
  }

  /** Aborts when nobody reads any more, or it was ended here. */
  get closed(): AbortSignal {
    return this.#closed.signal;
  }

  /** Sends a result; resolves when the reader can take another, or is gone. */
  async next(result: FormattedExecutionResult): Promise<void> {
    if (this.closed.aborted || this.#response.write(this.#framing.next(result))) return;
    const stalled = setTimeout(() => this.#response.destroy(), STALL_MS);
    await once(this.#response, 'drain', { signal: this.closed }).catch(() => undefined);
    clearTimeout(stalled);
  }

  /** Ends it with a last result when there is one; whoever reads knows that nothing more comes. */
  complete(last?: FormattedExecutionResult): void {
    this.#end((last ? this.#framing.next(last) : '') + this.#framing.complete);
  }

  /** Ends it in the middle: whoever reads should ask again. */
  breakOff(): void {
    this.#end('');
  }

  #begin(): void {
    // The second header asks nginx to pass on what it reads at once.
    this.#response.writeHead(200, { 'Content-Type': this.#framing.contentType, 'X-Accel-Buffering': 'no' });
  }

  #end(text: string): void {
    if (this.closed.aborted) return;
    this.#close();
    const opening = this.#response.headersSent ? '' : this.#framing.opening;
    if (!this.#response.headersSent) this.#begin();
    // What was sent before is not read, so this would not be either.
    if (this.#response.writableNeedDrain) this.#response.destroy();
    else this.#response.end(opening + text);
  }

  #close(): void {
    clearInterval(this.#keepAlive);
    this.#closed.abort();
  }
}
