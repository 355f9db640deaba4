import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { FormattedExecutionResult } from 'graphql';
import type { Session } from '../domain/accounts/sessions.ts';
import { type DomainError, serviceUnavailable } from '../domain/errors.ts';
import { EventStream, type ResultStream, SERVER_SENT_EVENTS } from './event-stream.ts';
import { refusalOfMore, STREAMS_OF_A_PROCESS } from './stream-limits.ts';

/** A reserved stream that is not opened within this time, in ms, is deleted. */
const OPEN_WITHIN_MS = 30_000;

/** One stream that carries all operations of a browser page. */
interface Shared {
  readonly session: Session;
  readonly operations: Map<string, SharedOperation>;
  readonly timer: NodeJS.Timeout;
  stream: EventStream | undefined;
}

/** Receives the results of one operation on a shared stream. Each event carries the id of its operation. */
class SharedOperation implements ResultStream {
  readonly #id: string;
  readonly #stream: EventStream;
  readonly #onEnd: () => void;
  readonly #closed = new AbortController();

  constructor(id: string, stream: EventStream, onEnd: () => void) {
    this.#id = id;
    this.#stream = stream;
    this.#onEnd = onEnd;
    stream.closed.addEventListener('abort', this.close, { once: true });
  }

  get closed(): AbortSignal {
    return this.#closed.signal;
  }

  /** Does nothing, because the shared stream is already open. */
  open(): void {}

  async next(payload: FormattedExecutionResult): Promise<void> {
    if (!this.closed.aborted) await this.#stream.send(eventOf('next', { id: this.#id, payload }));
  }

  complete(last?: FormattedExecutionResult): void {
    if (this.closed.aborted) return;
    const result = last ? eventOf('next', { id: this.#id, payload: last }) : '';
    void this.#stream.send(result + eventOf('complete', { id: this.#id }));
    this.close();
  }

  /** Closes the whole stream, so that the client connects again. */
  breakOff(): void {
    this.#stream.breakOff();
  }

  /** Ends the operation without sending anything to the client. */
  readonly close = (): void => {
    if (this.closed.aborted) return;
    this.#stream.closed.removeEventListener('abort', this.close);
    this.#onEnd();
    this.#closed.abort();
  };
}

function eventOf(name: string, content: object): string {
  return `event: ${name}\ndata: ${JSON.stringify(content)}\n\n`;
}

/**
 * GraphQL over SSE in single connection mode. A client reserves a stream, gets a token and opens the stream with it.
 * Then it sends operations, and their results arrive on the stream. All requests of a stream must reach the process
 * that reserved it, and must use the same session.
 */
export class SharedStreams {
  readonly #shared = new Map<string, Shared>();

  /**
   * Reserves a stream. Returns its token, or the reason why it is refused. A stream that is only reserved counts like an
   * open one. Otherwise the people of one account could reserve all streams of the process (R286).
   */
  reserve(session: Session): string | DomainError {
    if (this.#shared.size >= STREAMS_OF_A_PROCESS)
      return serviceUnavailable('Too many event streams are reserved. Try again.');
    const refused = refusalOfMore(
      [...this.#shared.values()].map((shared) => shared.session),
      session,
    );
    if (refused) return refused;
    const token = randomUUID();
    const timer = setTimeout(() => this.#shared.delete(token), OPEN_WITHIN_MS).unref();
    this.#shared.set(token, { session, operations: new Map(), timer, stream: undefined });
    return token;
  }

  /**
   * Turns `response` into the reserved stream and returns it. Returns 'unknown' for an unknown token, and 'taken' if
   * the stream is already open.
   */
  open(token: string, session: Session, response: ServerResponse): EventStream | 'unknown' | 'taken' {
    const shared = this.#find(token, session);
    if (!shared) return 'unknown';
    if (shared.stream) return 'taken';
    clearTimeout(shared.timer);
    const stream = new EventStream(response, SERVER_SENT_EVENTS);
    stream.closed.addEventListener('abort', () => this.#shared.delete(token), { once: true });
    if (stream.closed.aborted) this.#shared.delete(token);
    shared.stream = stream;
    return stream;
  }

  /**
   * Starts an operation and returns the stream for its results. Returns 'unknown' if there is no open stream, and
   * 'taken' if the id is already in use.
   */
  begin(token: string, session: Session, id: string): ResultStream | 'unknown' | 'taken' {
    const shared = this.#find(token, session);
    if (!shared?.stream) return 'unknown';
    if (shared.operations.has(id)) return 'taken';
    const operation = new SharedOperation(id, shared.stream, () => shared.operations.delete(id));
    shared.operations.set(id, operation);
    return operation;
  }

  /** Ends an operation that the client does not want any more. */
  end(token: string, session: Session, id: string): void {
    this.#find(token, session)?.operations.get(id)?.close();
  }

  #find(token: string, session: Session): Shared | undefined {
    const shared = this.#shared.get(token);
    return shared?.session.tokenHash.equals(session.tokenHash) ? shared : undefined;
  }
}
