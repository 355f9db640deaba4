/**
 * Sends requests to a provider's API. The operator configured the URL. URLs from customers go through the guarded
 * client instead.
 */
import { Pool } from 'undici';
import type { ProviderHealth, ProviderOutcome } from '../domain/ports/provider.ts';
import { Semaphore } from '../runtime/semaphore.ts';
import { MAY_NOT_LEAVE } from './may-leave.ts';

/**
 * The provider's answer, or why there is none. `definitelyNotSent` means that no byte of the request can have reached
 * the provider. `onlyThis` means that the failure says nothing about the provider. `asked` is false if no request was
 * begun.
 */
export type ProviderExchange =
  | {
      readonly kind: 'answer';
      readonly status: number;
      /** Time in ms to wait before a retry, from the header `Retry-After`. */
      readonly retryAfterMs: number | undefined;
      /**
       * The body, if it is a JSON object. Otherwise undefined: such an answer may come from a proxy in front of the
       * API.
       */
      readonly body: Readonly<Record<string, unknown>> | undefined;
    }
  | {
      readonly kind: 'failure';
      readonly reason: string;
      readonly asked: boolean;
      readonly definitelyNotSent: boolean;
      readonly onlyThis?: true;
    };

export interface ProviderRequest {
  /** Appended to the base URL. Begins with a slash. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Limits how long a request may wait for a connection. Default: no limit. */
export interface WaitLimits {
  readonly signal?: AbortSignal;
  /** The request must not be sent after this time. */
  readonly expiresAt?: Date;
  /** Called when the wait is over. The request is sent only if it returns true. */
  readonly mayLeave?: () => Promise<boolean>;
}

export interface ProviderHttpOptions {
  readonly baseUrl: string;
  /** Time limit in ms for the whole exchange. It starts when the request gets a connection. */
  readonly timeoutMs?: number;
  readonly connections?: number;
  /** The clock for deadlines. Default: the clock of the process. */
  readonly now?: (() => Date) | undefined;
}

const TIMEOUT_MS = 30_000;
const CONNECT_TIMEOUT_MS = 10_000;
const CONNECTIONS = 32;
const STOP_GRACE_MS = 10_000;
/** HTTP 408: the API stopped waiting for the request. It is unknown whether the message was accepted. */
export const REQUEST_TIMEOUT = 408;
const MAX_ANSWER_BYTES = 256 * 1024;
/** The longest `Retry-After` that the gateway obeys, in ms. A longer time counts as a mistake of the provider. */
const LONGEST_PAUSE_MS = 3_600_000;

/** Codes of errors that happen before a connection exists. */
const BEFORE_SENDING =
  /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|ENETUNREACH|EHOSTUNREACH|UND_ERR_CONNECT_TIMEOUT|UND_ERR_CLOSED|UND_ERR_DESTROYED|ERR_TLS_|CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_)/;

/**
 * A keep-alive client for one provider's API. It follows no redirects. If all connections are in use, requests wait,
 * and their timeout starts only when they get a connection. Otherwise a request could be sent shortly before it times
 * out, and its retry would send the message twice.
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

  /** Number of requests that hold a connection. */
  get inFlight(): number {
    return this.#connections.held;
  }

  get isClosed(): boolean {
    return this.#connections.isClosed;
  }

  /** Waits for a free connection, POSTs what `write` returns, and reads the answer. Never rejects. */
  async post(
    write: () => ProviderRequest,
    { signal, expiresAt, mayLeave }: WaitLimits,
  ): Promise<ProviderExchange> {
    if (!(await this.#connections.acquire(signal))) return turnedAway('no connection is free');
    try {
      if (mayLeave && !(await mayLeave())) return turnedAway(MAY_NOT_LEAVE);
      if (signal?.aborted) return turnedAway('the time to send the message was over before it could be sent');
      if (expiresAt && this.#now() >= expiresAt)
        return turnedAway('the message expired before it could be sent');
      return await this.#exchange('POST', write());
    } finally {
      this.#connections.release();
    }
  }

  /** Like `post`, but sends a GET. Use it for requests that change nothing. */
  async get({ path, headers }: Omit<ProviderRequest, 'body'>): Promise<ProviderExchange> {
    if (!(await this.#connections.acquire())) return turnedAway('no connection is free');
    try {
      return await this.#exchange('GET', { path, headers });
    } finally {
      this.#connections.release();
    }
  }

  /** Rejects waiting requests and lets requests in flight end. */
  async close(): Promise<void> {
    await this.#connections.close(STOP_GRACE_MS);
    await this.#pool.close().catch(() => undefined);
  }

  async #exchange(
    method: 'GET' | 'POST',
    { path, headers, body }: Omit<ProviderRequest, 'body'> & { readonly body?: string },
  ): Promise<ProviderExchange> {
    const signal = AbortSignal.timeout(this.#timeoutMs);
    try {
      const answer = await this.#pool.request({
        method,
        path: this.#basePath + path,
        headers,
        ...(body === undefined ? {} : { body }),
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

/** Returns the health of a provider. If `fault` is set, such as wrong credentials, the provider is down. */
export function healthOf(name: string, inFlight: number, fault: string | undefined): ProviderHealth {
  return fault === undefined
    ? { name, state: 'up', inFlight }
    : { name, state: 'down', inFlight, detail: fault };
}

/** Returns the outcome of a request without an answer. */
export function noAnswer(
  who: string,
  { reason, asked, definitelyNotSent, onlyThis }: ProviderExchange & { kind: 'failure' },
): ProviderOutcome {
  return {
    kind: 'unavailable',
    asked,
    reason: `${who}: ${reason}`,
    ...(definitelyNotSent ? { definitelyNotSent } : {}),
    ...(onlyThis ? { onlyThis } : {}),
  };
}

function turnedAway(reason: string): ProviderExchange {
  return { kind: 'failure', asked: false, reason, definitelyNotSent: true, onlyThis: true };
}

/**
 * Reads `Retry-After`, which is a number of seconds or a date. Returns at most an hour. Undefined if the header is
 * missing or invalid.
 */
export function retryAfterMs(header: string | undefined, nowMs: number): number | undefined {
  if (header === undefined) return undefined;
  const seconds = /^\s*[0-9]{1,9}\s*$/.test(header) ? Number(header) : undefined;
  const pauseMs = seconds === undefined ? Date.parse(header) - nowMs : seconds * 1000;
  return Number.isNaN(pauseMs) ? undefined : Math.min(LONGEST_PAUSE_MS, Math.max(0, pauseMs));
}

function failureOf(error: unknown, timeoutMs: number): ProviderExchange {
  const { name = '', code: given } = (error ?? {}) as { name?: string; code?: unknown };
  if (name === 'TimeoutError') {
    return {
      kind: 'failure',
      asked: true,
      reason: `no answer within ${timeoutMs / 1000} s`,
      definitelyNotSent: false,
    };
  }
  const code = String(given ?? name);
  const definitelyNotSent = BEFORE_SENDING.test(code);
  const words = definitelyNotSent ? 'it cannot be reached' : 'the connection broke';
  return { kind: 'failure', asked: true, reason: `${words} (${code || 'unknown'})`, definitelyNotSent };
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
