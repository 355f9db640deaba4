import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { FormattedExecutionResult } from 'graphql';

/** A comment this often keeps proxies from taking the connection for dead. */
const KEEP_ALIVE_MS = 15_000;
/** A reader that takes nothing for this long is gone. */
const STALL_MS = 60_000;

const COMMENT = ':\n\n';
const HEADERS = {
  'Content-Type': 'text/event-stream; charset=utf-8',
  // Asks nginx to pass on what it reads at once.
  'X-Accel-Buffering': 'no',
};

/**
 * One answer of the GraphQL-over-SSE protocol in its distinct connections mode: results as `next` events, then
 * `complete`. It is written as fast as it is read: the socket's own buffer is all that waits.
 */
export class EventStream {
  readonly #response: ServerResponse;
  readonly #closed = new AbortController();
  #keepAlive: NodeJS.Timeout | undefined;

  constructor(response: ServerResponse) {
    this.#response = response;
    response.on('close', () => this.#close());
    response.on('error', () => this.#close());
    if (response.destroyed) this.#close();
  }

  /** Begins it: tells whoever asked that nothing is missed from now on. */
  open(): void {
    if (this.closed.aborted) return;
    this.#response.writeHead(200, HEADERS);
    // Some browsers take the answer for begun at its first byte only.
    this.#response.write(COMMENT);
    this.#keepAlive = setInterval(() => {
      if (!this.#response.writableNeedDrain) this.#response.write(COMMENT);
    }, KEEP_ALIVE_MS);
  }

  /** Aborts when nobody reads any more, or it was ended here. */
  get closed(): AbortSignal {
    return this.#closed.signal;
  }

  /** Sends a result; resolves when the reader can take another, or is gone. */
  async next(result: FormattedExecutionResult): Promise<void> {
    if (this.closed.aborted || this.#response.write(eventOf('next', result))) return;
    const stalled = setTimeout(() => this.#response.destroy(), STALL_MS);
    await once(this.#response, 'drain', { signal: this.closed }).catch(() => undefined);
    clearTimeout(stalled);
  }

  /** Ends it with a last result when there is one; whoever reads knows that nothing more comes. */
  complete(last?: FormattedExecutionResult): void {
    this.#end((last ? eventOf('next', last) : '') + eventOf('complete'));
  }

  /** Ends it in the middle: whoever reads should ask again. */
  breakOff(): void {
    this.#end('');
  }

  #end(text: string): void {
    if (this.closed.aborted) return;
    this.#close();
    if (!this.#response.headersSent) this.#response.writeHead(200, HEADERS);
    // What was sent before is not read, so this would not be either.
    if (this.#response.writableNeedDrain) this.#response.destroy();
    else this.#response.end(text);
  }

  #close(): void {
    clearInterval(this.#keepAlive);
    this.#closed.abort();
  }
}

function eventOf(event: 'next' | 'complete', data?: object): string {
  return `event: ${event}\ndata:${data ? ` ${JSON.stringify(data)}` : ''}\n\n`;
}
