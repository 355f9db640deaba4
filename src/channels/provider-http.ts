/** Requests to a provider's own API, whose address the operator configured (customers' addresses go through the guarded client). */
import { Pool } from 'undici';
import type { SubmitOutcome } from '../domain/ports/provider.ts';
import { Semaphore } from '../runtime/semaphore.ts';

/**
 * An answer of the provider, or why none came. `definitelyNotSent`: no byte of the request can have reached it. `onlyThis`: it
 * says nothing of the provider.
 */
export type ProviderExchange =
  | {
      readonly kind: 'answer';
      readonly status: number;
      /** Milliseconds until another try makes sense, from `Retry-After`. */
      readonly retryAfterMs: number | undefined;
      /** The JSON object; undefined when the answer is none, so that somebody else than the API may have given it. */
      readonly body: Readonly<Record<string, unknown>> | undefined;
    }
  | {
      readonly kind: 'failure';
      readonly reason: string;
      readonly definitelyNotSent: boolean;
      readonly onlyThis?: true;
    };

export interface ProviderRequest {
  /** Below the base address, with the leading slash. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** How long a request may wait for a connection: for good when both are absent. */
export interface Patience {
  readonly signal?: AbortSignal;
  /** It must not leave after this instant. */
  readonly expiresAt?: Date;
}

export interface ProviderHttpOptions {
  readonly baseUrl: string;
  /** Milliseconds for a whole exchange, from when a connection is free for it. */
  readonly timeoutMs?: number;
  readonly connections?: number;
  /** The time that deadlines are kept by; the process's when absent. */
  readonly now?: (() => Date) | undefined;
}

const TIMEOUT_MS = 30_000;
const CONNECT_TIMEOUT_MS = 10_000;
const CONNECTIONS = 32;
const STOP_GRACE_MS = 10_000;
/** What stands before an API gave up on the request, which says nothing of the message. */
export const REQUEST_TIMEOUT = 408;
const MAX_ANSWER_BYTES = 256 * 1024;
/** A longer pause than this is no pause but a fault of the provider. */
const LONGEST_PAUSE_MS = 3_600_000;

/** Errors that come before a connection exists. */
const BEFORE_SENDING =
  /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|ENETUNREACH|EHOSTUNREACH|UND_ERR_CONNECT_TIMEOUT|UND_ERR_CLOSED|UND_ERR_DESTROYED|ERR_TLS_|CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_)/;

/**
 * A keep-alive client of one provider's API. Redirects are not followed. More requests than it has connections wait, and
 * their time does not run: it would end for some just after they had left, and they would be sent again.
 */
export class ProviderHttp {
  readonly #pool: Pool;
  readonly #connections: Semaphore;
  readonly #basePath: string;
  readonly #timeoutMs: number;
  readonly #now: () => Date;

  constructor({
    baseUrl,
    timeoutMs = TIMEOUT_MS,
    connections = CONNECTIONS,
    now = () => new Date(),
  }: ProviderHttpOptions) {
    this.#now = now;
    const url = new URL(baseUrl);
    this.#basePath = url.pathname.replace(/\/+$/, '');
    this.#timeoutMs = timeoutMs;
    this.#connections = new Semaphore(connections);
    this.#pool = new Pool(url.origin, {
      connections,
      connect: { timeout: Math.min(CONNECT_TIMEOUT_MS, timeoutMs) },
    });
  }

  /** Requests that have a connection. */
  get inFlight(): number {
    return this.#connections.held;
  }

  get isClosed(): boolean {
    return this.#connections.isClosed;
  }

  /** POSTs what `write` gives once a connection is free, and reads the answer; never rejects. */
  async post(write: () => ProviderRequest, { signal, expiresAt }: Patience): Promise<ProviderExchange> {
    if (!(await this.#connections.acquire(signal))) return turnedAway('no connection is free');
    try {
      if (expiresAt && this.#now() >= expiresAt)
        return turnedAway('the message expired before it could be sent');
      return await this.#exchange(write());
    } finally {
      this.#connections.release();
    }
  }

  /** Lets requests under way end, and sends away those that wait. */
  async close(): Promise<void> {
    await this.#connections.close(STOP_GRACE_MS);
    await this.#pool.close().catch(() => undefined);
  }

  async #exchange({ path, headers, body }: ProviderRequest): Promise<ProviderExchange> {
    const signal = AbortSignal.timeout(this.#timeoutMs);
    try {
      const answer = await this.#pool.request({
        method: 'POST',
        path: this.#basePath + path,
        headers,
        body,
        signal,
      });
      const chunks: Buffer[] = [];
      let length = 0;
      for await (const chunk of answer.body) {
        length += chunk.length;
        if (length > MAX_ANSWER_BYTES) break;
        chunks.push(chunk);
      }
      return {
        kind: 'answer',
        status: answer.statusCode,
        retryAfterMs: retryAfterMs(one(answer.headers['retry-after']), Date.now()),
        body: parsed(Buffer.concat(chunks).toString('utf8')),
      };
    } catch (error) {
      return failureOf(error, this.#timeoutMs);
    }
  }
}

/** The outcome of a request that got no answer from `who`. */
export function noAnswer(
  who: string,
  { reason, definitelyNotSent, onlyThis }: ProviderExchange & { kind: 'failure' },
): SubmitOutcome {
  return {
    kind: 'unavailable',
    reason: `${who}: ${reason}`,
    ...(definitelyNotSent ? { definitelyNotSent } : {}),
    ...(onlyThis ? { onlyThis } : {}),
  };
}

function turnedAway(reason: string): ProviderExchange {
  return { kind: 'failure', reason, definitelyNotSent: true, onlyThis: true };
}

/** Reads `Retry-After`, seconds or a date; undefined when it is missing or neither. At most an hour. */
export function retryAfterMs(header: string | undefined, nowMs: number): number | undefined {
  if (header === undefined) return undefined;
  const seconds = /^\s*[0-9]{1,9}\s*$/.test(header) ? Number(header) : undefined;
  const pauseMs = seconds === undefined ? Date.parse(header) - nowMs : seconds * 1000;
  return Number.isNaN(pauseMs) ? undefined : Math.min(LONGEST_PAUSE_MS, Math.max(0, pauseMs));
}

function failureOf(error: unknown, timeoutMs: number): ProviderExchange {
  const { name = '', code: given } = (error ?? {}) as { name?: string; code?: unknown };
  if (name === 'TimeoutError') {
    return { kind: 'failure', reason: `no answer within ${timeoutMs / 1000} s`, definitelyNotSent: false };
  }
  const code = String(given ?? name);
  const definitelyNotSent = BEFORE_SENDING.test(code);
  const words = definitelyNotSent ? 'it cannot be reached' : 'the connection broke';
  return { kind: 'failure', reason: `${words} (${code || 'unknown'})`, definitelyNotSent };
}

function one(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header[0] : header;
}

function parsed(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
