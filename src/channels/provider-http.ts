/**
 * Requests to a provider's API. The operator configured its address; addresses from customers go through the guarded
 * client.
 */
import { Pool } from 'undici';
import type { ProviderHealth, SubmitOutcome } from '../domain/ports/provider.ts';
import { Semaphore } from '../runtime/semaphore.ts';

/**
 * The provider's answer, or why there is none. `definitelyNotSent`: no byte of the request can have reached it.
 * `onlyThis`: the failure says nothing about the provider.
 */
export type ProviderExchange =
  | {
      readonly kind: 'answer';
      readonly status: number;
      /** Milliseconds to wait before a retry, from `Retry-After`. */
      readonly retryAfterMs: number | undefined;
      /** The JSON object. Undefined for anything else, which something in front of the API may have sent. */
      readonly body: Readonly<Record<string, unknown>> | undefined;
    }
  | {
      readonly kind: 'failure';
      readonly reason: string;
      readonly definitelyNotSent: boolean;
      readonly onlyThis?: true;
    };

export interface ProviderRequest {
  /** Appended to the base address. Begins with a slash. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** How long a request may wait for a connection. Default: without end. */
export interface WaitLimits {
  readonly signal?: AbortSignal;
  /** The request must not be sent after this time. */
  readonly expiresAt?: Date;
}

export interface ProviderHttpOptions {
  readonly baseUrl: string;
  /** Milliseconds for the whole exchange, from when it has a connection. */
  readonly timeoutMs?: number;
  readonly connections?: number;
  /** The clock for deadlines. Default: the process's. */
  readonly now?: (() => Date) | undefined;
}

const TIMEOUT_MS = 30_000;
const CONNECT_TIMEOUT_MS = 10_000;
const CONNECTIONS = 32;
const STOP_GRACE_MS = 10_000;
/** The API gave up on the request. That says nothing about the message. */
export const REQUEST_TIMEOUT = 408;
const MAX_ANSWER_BYTES = 256 * 1024;
/** A longer pause is a fault of the provider. */
const LONGEST_PAUSE_MS = 3_600_000;

/** Errors before a connection exists. */
const BEFORE_SENDING =
  /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|ENETUNREACH|EHOSTUNREACH|UND_ERR_CONNECT_TIMEOUT|UND_ERR_CLOSED|UND_ERR_DESTROYED|ERR_TLS_|CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_)/;

/**
 * A keep-alive client for one provider's API. Follows no redirects. Requests beyond the number of connections wait,
 * and their timeout starts only then: a request that timed out just after it was sent would be sent twice.
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

  /** Requests that hold a connection. */
  get inFlight(): number {
    return this.#connections.held;
  }

  get isClosed(): boolean {
    return this.#connections.isClosed;
  }

  /** POSTs what `write` returns once a connection is free, and reads the answer. Never rejects. */
  async post(write: () => ProviderRequest, { signal, expiresAt }: WaitLimits): Promise<ProviderExchange> {
    if (!(await this.#connections.acquire(signal))) return turnedAway('no connection is free');
    try {
      if (expiresAt && this.#now() >= expiresAt)
        return turnedAway('the message expired before it could be sent');
      return await this.#exchange(write());
    } finally {
      this.#connections.release();
    }
  }

  /** Lets requests in flight end and rejects waiting ones. */
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

/** The health of a provider that is down while it has a fault of its own, such as wrong credentials. */
export function healthOf(name: string, inFlight: number, fault: string | undefined): ProviderHealth {
  return fault === undefined
    ? { name, state: 'up', inFlight }
    : { name, state: 'down', inFlight, detail: fault };
}

/** The outcome of a request without an answer. */
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

/** Reads `Retry-After`, seconds or a date, at most an hour. Undefined when it is missing or neither. */
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
