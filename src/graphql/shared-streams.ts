import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { FormattedExecutionResult } from 'graphql';
import type { Session } from '../domain/accounts/sessions.ts';
import { EventStream, type ResultStream, SERVER_SENT_EVENTS } from './event-stream.ts';

/** A reservation is forgotten when its stream does not open within this time, in ms. */
const OPEN_WITHIN_MS = 30_000;
const RESERVATIONS_MAX = 1_000;

/** One stream for all operations of a page. */
interface Shared {
  readonly session: Session;
  readonly operations: Map<string, SharedOperation>;
  readonly timer: NodeJS.Timeout;
  stream: EventStream | undefined;
}

/** Results of one operation on a shared stream. Its events carry its id. */
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

  /** The stream is open already. */
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

  /** Cuts the whole stream, so that the client connects again. */
  breakOff(): void {
    this.#stream.breakOff();
  }

  /** Ends the operation without a word to the client. */
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
 * GraphQL over SSE in its single connection mode: a client reserves a stream with a token, opens it, and sends
 * operations whose results come on it. All requests of a stream must reach the process that reserved it, and be of one
 * session.
 */
export class SharedStreams {
  readonly #shared = new Map<string, Shared>();

  /** Reserves a stream. Returns its token; undefined if there are too many. */
  reserve(session: Session): string | undefined {
    if (this.#shared.size >= RESERVATIONS_MAX) return undefined;
    const token = randomUUID();
    const timer = setTimeout(() => this.#shared.delete(token), OPEN_WITHIN_MS).unref();
    this.#shared.set(token, { session, operations: new Map(), timer, stream: undefined });
    return token;
  }

  /** Makes a response the reserved stream. Returns it; or why it cannot be. */
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

  /** Begins an operation. Returns where its results go; or why it cannot begin. */
  begin(token: string, session: Session, id: string): ResultStream | 'unknown' | 'taken' {
    const shared = this.#find(token, session);
    if (!shared?.stream) return 'unknown';
    if (shared.operations.has(id)) return 'taken';
    const operation = new SharedOperation(id, shared.stream, () => shared.operations.delete(id));
    shared.operations.set(id, operation);
    return operation;
  }

  /** Ends an operation, because the client no longer wants it. */
  end(token: string, session: Session, id: string): void {
    this.#find(token, session)?.operations.get(id)?.close();
  }

  #find(token: string, session: Session): Shared | undefined {
    const shared = this.#shared.get(token);
    return shared?.session.tokenHash.equals(session.tokenHash) ? shared : undefined;
  }
}
