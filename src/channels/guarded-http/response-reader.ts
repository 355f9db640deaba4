/** Sends one request on a pool. Reads the answer up to a size limit and until a deadline. */
import type { Dispatcher, Pool } from 'undici';
import { exchangeFailure, GuardedHttpError, timedOut } from './http-errors.ts';

export interface DispatchRequest {
  readonly path: string;
  readonly method: Dispatcher.HttpMethod;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array | null;
  readonly maxResponseBytes: number;
  /** The time at which the request must end (performance.now, ms). */
  readonly deadline: number;
  /** The time limit of the whole exchange in ms, for the message of a timeout. */
  readonly timeoutMs: number;
}

/** Headers by their lower-case name. */
export type ResponseHeaders = Readonly<Record<string, string | string[] | undefined>>;

/**
 * A status line and the body after it. `incomplete` says why the body ended early. It is null if the body is complete
 * or was cut at the limit.
 */
export interface RawResponse {
  readonly status: number;
  readonly headers: ResponseHeaders;
  readonly chunks: readonly Uint8Array[];
  readonly cut: boolean;
  readonly incomplete: GuardedHttpError | null;
}

/**
 * Sends one request. Resolves with the answer, and with at most `maxResponseBytes` of its body. If a failure or the
 * deadline ends the answer early, resolves with the part that arrived. The socket is kept only after a complete answer.
 * Rejects with `GuardedHttpError` if no status line arrived.
 */
export function dispatchOnce(pool: Pool, request: DispatchRequest): Promise<RawResponse> {
  return new Promise((resolve, reject) => {
    const reader = new ResponseReader(request, resolve, reject);
    const { path, method, headers, body } = request;
    try {
      pool.dispatch({ path, method, headers, body }, reader);
    } catch (error) {
      reader.onResponseError(null, error);
    }
  });
}

class ResponseReader implements Dispatcher.DispatchHandler {
  readonly #request: DispatchRequest;
  readonly #resolve: (response: RawResponse) => void;
  readonly #reject: (error: GuardedHttpError) => void;
  readonly #timer: NodeJS.Timeout;
  readonly #chunks: Uint8Array[] = [];
  #size = 0;
  #status = 0;
  #headers: ResponseHeaders = {};
  #settled = false;
  #controller: Dispatcher.DispatchController | undefined;

  constructor(
    request: DispatchRequest,
    resolve: (response: RawResponse) => void,
    reject: (error: GuardedHttpError) => void,
  ) {
    this.#request = request;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#timer = setTimeout(
      () => this.#expire(),
      Math.max(1, Math.ceil(request.deadline - performance.now())),
    );
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    // The request timed out while it waited in the pool. Throw here, so that the socket stays open for other requests.
    // An abort would destroy the socket.
    if (this.#settled) throw new GuardedHttpError('timeout', 'the request is over');
    this.#controller = controller;
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: ResponseHeaders): void {
    if (status < 200) return;
    this.#status = status;
    this.#headers = headers;
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Uint8Array): void {
    if (this.#settled) return;
    const room = this.#request.maxResponseBytes - this.#size;
    this.#chunks.push(chunk.length > room ? chunk.subarray(0, room) : chunk);
    this.#size += Math.min(chunk.length, room);
    if (chunk.length <= room) return;
    this.#settle(null, true);
    // Stop reading here. Otherwise the receiver decides how much the gateway reads.
    controller.abort(new Error('enough'));
  }

  onResponseEnd(): void {
    this.#settle(null);
  }

  onResponseError(_: Dispatcher.DispatchController | null, error: unknown): void {
    this.#settle(exchangeFailure(error, this.#status !== 0));
  }

  #expire(): void {
    const doing =
      this.#status !== 0
        ? 'while the answer was read'
        : this.#controller === undefined
          ? 'waiting for a connection'
          : 'waiting for the answer';
    const error = timedOut(this.#request.timeoutMs, doing);
    this.#settle(error);
    this.#controller?.abort(error);
  }

  #settle(failure: GuardedHttpError | null, cut = false): void {
    if (this.#settled) return;
    this.#settled = true;
    clearTimeout(this.#timer);
    if (this.#status === 0) {
      this.#reject(failure ?? new GuardedHttpError('bad_response', 'the answer has no status'));
    } else {
      // Ignore a failure after the limit, because the rest of the body is not kept.
      const incomplete = this.#size >= this.#request.maxResponseBytes ? null : failure;
      const [status, headers] = [this.#status, this.#headers];
      this.#resolve({ status, headers, chunks: this.#chunks, cut, incomplete });
    }
  }
}

/**
 * Returns the bytes as text that PostgreSQL can store: at most `maxBytes` in UTF-8. Invalid bytes and U+0000 become
 * U+FFFD.
 */
export function storableText({ chunks, cut }: RawResponse, maxBytes: number): string {
  if (chunks.length === 0) return '';
  const bytes = chunks.length === 1 ? (chunks[0] as Uint8Array) : Buffer.concat(chunks);
  // The limit may have cut a character in two. Then `decode` drops its first half.
  const text = decode(bytes, cut).replaceAll('\u0000', '\ufffd');
  if (text.length * 3 <= maxBytes || Buffer.byteLength(text) <= maxBytes) return text;
  return decode(Buffer.from(text).subarray(0, maxBytes), true);
}

const decode = (bytes: Uint8Array, cut: boolean): string =>
  cut
    ? new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes, { stream: true })
    : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString();
