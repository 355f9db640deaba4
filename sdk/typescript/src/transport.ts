import { errorOf, GatewayError } from './errors.ts';
import { RequestSigner } from './request-signer.ts';
import { delayBefore, mayRepeat, type Repeat, wait } from './retries.ts';
import { VERSION } from './version.ts';
import { webCrypto } from './web-crypto.ts';

export interface GatewayOptions {
  /** The full API key, `msg_…`. It is a secret: keep it on servers. Default: `GATEWAY_API_KEY` of the environment. */
  readonly apiKey?: string | undefined;
  /**
   * URL of the gateway, such as `https://sms.example.com`, with or without `/api/v1`. Default: `GATEWAY_URL` of the
   * environment.
   */
  readonly baseUrl?: string | undefined;
  /** The signing secret `sigsec_…`, for API keys that must sign their requests. */
  readonly signingSecret?: string | undefined;
  /** Time limit of each attempt in milliseconds. Default: 30,000. */
  readonly timeoutMs?: number | undefined;
  /** Maximum number of retries after the first attempt. Default: 3. */
  readonly maxRetries?: number | undefined;
  /**
   * Longest wait before the first retry in milliseconds. Default: 500. It doubles with each retry, and the actual wait
   * is a random part of it.
   */
  readonly retryDelayMs?: number | undefined;
  /** Replaces the global `fetch`. */
  readonly fetch?: typeof fetch | undefined;
  /** Called after each attempt, for logs and metrics. */
  readonly onTry?: ((tried: TriedRequest) => void) | undefined;
}

export interface CallOptions {
  /** Time limit of each attempt in milliseconds. */
  readonly timeoutMs?: number | undefined;
  /** Maximum number of retries after the first attempt. */
  readonly maxRetries?: number | undefined;
  /** Aborts the call and its retries. */
  readonly signal?: AbortSignal | undefined;
}

export interface SendOptions extends CallOptions {
  /** 1 to 64 characters. If neither this option nor the message has one, the SDK generates one. */
  readonly idempotencyKey?: string | undefined;
}

/** One attempt, for logs and metrics. */
export interface TriedRequest {
  readonly method: string;
  /** The path without the query. */
  readonly path: string;
  /** Number of the attempt, from 1. */
  readonly attempt: number;
  readonly durationMs: number;
  /** HTTP status of the response, or null if no response arrived. */
  readonly statusCode: number | null;
  readonly requestId: string;
}

/** An operation of the REST API. */
interface Operation {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** The path after `/api/v1`. */
  readonly path: string;
  readonly repeat: Repeat;
}

interface Input {
  readonly body?: object;
  readonly query?: object;
}

/** The parts of a call that are the same in every attempt. */
interface Call {
  readonly operation: Operation;
  readonly url: string;
  readonly body: string | undefined;
  readonly idempotencyKey: string | null;
  readonly requestId: string;
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
}

const API_PATH = '/api/v1';
const TIMEOUT_MS = 30_000;
const MAX_RETRIES = 3;
const RETRY_DELAY_MS = 500;
/**
 * How often a refused signature is replaced. A second that a busy key used already is found again with a chance of
 * about one in eight: six tries leave one in 200,000.
 */
const SIGNED_ANEW_MAX = 6;
const QUOTED_MAX = 200;

/** Returns a variable of the environment. Undefined where there is no environment, as in some workers. */
const fromEnvironment = (name: string): string | undefined => globalThis.process?.env?.[name];

/** Sends requests and retries them where that is safe. Throws a `GatewayError` if a request does not succeed. */
export class Transport {
  readonly #options: GatewayOptions;
  readonly #apiKey: string;
  readonly #baseUrl: string;
  readonly #signer: RequestSigner | undefined;

  /** Throws a `TypeError` if an option is missing or invalid. */
  constructor(options: GatewayOptions) {
    const { signingSecret } = options;
    const apiKey = options.apiKey ?? fromEnvironment('GATEWAY_API_KEY');
    const baseUrl = options.baseUrl ?? fromEnvironment('GATEWAY_URL');
    if (!apiKey)
      throw new TypeError(
        'apiKey is missing: pass the key msg_… that the gateway showed, or set GATEWAY_API_KEY.',
      );
    if (!baseUrl)
      throw new TypeError(
        'baseUrl is missing: pass the address of the gateway, such as http://127.0.0.1:3000, or set GATEWAY_URL.',
      );
    this.#options = options;
    this.#apiKey = apiKey;
    this.#baseUrl = apiUrlOf(baseUrl);
    this.#signer = signingSecret === undefined ? undefined : new RequestSigner(signingSecret);
  }

  /** URL of the gateway, without `/api/v1`. */
  get origin(): string {
    return this.#baseUrl.slice(0, -API_PATH.length);
  }

  /** Runs an operation and returns the parsed response body. Throws `GatewayError`. */
  async call<Answer>(operation: Operation, input: Input, options: SendOptions = {}): Promise<Answer> {
    const { maxRetries = MAX_RETRIES, retryDelayMs = RETRY_DELAY_MS } = {
      ...this.#options,
      ...given(options),
    };
    const call = await this.#prepare(operation, input, options);
    for (let attempt = 1; ; attempt += 1) {
      try {
        return (await this.#try(call, attempt)) as Answer;
      } catch (thrown) {
        const error = thrown as GatewayError;
        if (!call.signal?.aborted && this.#maySignAnew(error, attempt)) continue;
        const isLast = attempt > maxRetries || call.signal?.aborted;
        if (isLast || !mayRepeat(operation.repeat, error)) throw error;
        const delayMs = delayBefore(attempt, retryDelayMs, error.retryAfter, Math.random());
        await wait(delayMs, call.signal).catch((reason) => {
          throw networkError(call, attempt, reason);
        });
      }
    }
  }

  /**
   * True if a refused signature may be replaced. Two processes that send equal requests in the same second make the
   * same signature. The gateway accepts it once and answers 401 to the others. A request with 401 was not carried out,
   * so a retry is safe and does not count as one of `maxRetries`.
   */
  #maySignAnew({ statusCode }: GatewayError, attempt: number): boolean {
    return this.#signer !== undefined && statusCode === 401 && attempt <= SIGNED_ANEW_MAX;
  }

  async #prepare(operation: Operation, { body, query }: Input, options: SendOptions): Promise<Call> {
    const crypto = await webCrypto();
    const named = options.idempotencyKey ?? (body as { idempotencyKey?: string } | undefined)?.idempotencyKey;
    return {
      operation,
      url: `${this.#baseUrl}${operation.path}${queryOf(query)}`,
      body: body === undefined ? undefined : JSON.stringify(body),
      idempotencyKey: operation.repeat === 'keyed' ? (named ?? crypto.randomUUID()) : null,
      requestId: crypto.randomUUID(),
      timeoutMs: options.timeoutMs ?? this.#options.timeoutMs ?? TIMEOUT_MS,
      signal: options.signal,
    };
  }

  async #try(call: Call, attempt: number): Promise<unknown> {
    const { method, path } = call.operation;
    // Each attempt gets a new signature, because the gateway accepts a signature only once.
    const headers = await this.#headersOf(call);
    const startedAt = Date.now();
    let response: Response | undefined;
    const abort = new AbortController();
    const onAbort = () => abort.abort(call.signal?.reason);
    const timer = setTimeout(
      () => abort.abort(new DOMException(`no answer within ${call.timeoutMs} ms`, 'TimeoutError')),
      call.timeoutMs,
    );
    call.signal?.addEventListener('abort', onAbort, { once: true });
    try {
      if (call.signal?.aborted) throw call.signal.reason;
      response = await (this.#options.fetch ?? fetch)(call.url, {
        method,
        headers,
        ...(call.body === undefined ? {} : { body: call.body }),
        redirect: 'manual',
        signal: abort.signal,
      });
      const text = await response.text();
      return answerOf(call, attempt, response, text);
    } catch (error) {
      if (error instanceof GatewayError) throw error;
      throw networkError(call, attempt, abort.signal.aborted ? abort.signal.reason : error);
    } finally {
      clearTimeout(timer);
      call.signal?.removeEventListener('abort', onAbort);
      this.#options.onTry?.({
        method,
        path,
        attempt,
        durationMs: Date.now() - startedAt,
        statusCode: response?.status ?? null,
        requestId: call.requestId,
      });
    }
  }

  async #headersOf(call: Call): Promise<Record<string, string>> {
    const { method, path } = call.operation;
    return {
      Accept: 'application/json',
      'User-Agent': `messaging-gateway-client/${VERSION}`,
      'X-Api-Key': this.#apiKey,
      'X-Request-Id': call.requestId,
      ...(call.body === undefined ? {} : { 'Content-Type': 'application/json' }),
      ...(call.idempotencyKey === null ? {} : { 'Idempotency-Key': call.idempotencyKey }),
      ...(await this.#signer?.headersFor(method, `${API_PATH}${path}`, call.body ?? '')),
    };
  }
}

/** Drops options that are undefined, so that they do not override the client's options. */
function given<Options extends object>(options: Options): Partial<Options> {
  return Object.fromEntries(
    Object.entries(options).filter(([, value]) => value !== undefined),
  ) as Partial<Options>;
}

function apiUrlOf(baseUrl: string): string {
  let url: URL;
  try {
    url = new URL(baseUrl);
  } catch {
    throw new TypeError(`baseUrl is no address: ${baseUrl}. It looks like http://127.0.0.1:3000.`);
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw new TypeError(`baseUrl must begin with https:// or http://, not ${url.protocol}//.`);
  }
  const path = url.pathname.replace(/\/+$/, '');
  return `${url.origin}${path.endsWith(API_PATH) ? path : `${path}${API_PATH}`}`;
}

/** Encodes an id as one segment of a path. Throws a `TypeError` for an id that would change the path, such as `..`. */
export function segment(id: string): string {
  if (typeof id !== 'string' || id === '' || id === '.' || id === '..') {
    throw new TypeError(`The id is missing: ${JSON.stringify(id)} names nothing.`);
  }
  return encodeURIComponent(id);
}

function queryOf(query: object = {}): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) parameters.set(name, String(value));
  }
  const text = parameters.toString();
  return text === '' ? '' : `?${text}`;
}

/**
 * Returns the parsed body of a successful response. Throws a `GatewayError` if the gateway refused, or if the response
 * is not from the gateway.
 */
function answerOf(call: Call, attempt: number, response: Response, text: string): unknown {
  const { status, headers } = response;
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    throw foreignAnswer(call, attempt, response, text);
  }
  if (response.ok) return body;
  const refusal = refusalIn(body);
  if (!refusal) throw foreignAnswer(call, attempt, response, text);
  throw errorOf({
    ...refusal,
    statusCode: status,
    requestId: headers.get('x-request-id') ?? call.requestId,
    retryAfter: secondsIn(headers.get('retry-after')) ?? refusal.retryAfter,
    idempotencyKey: call.idempotencyKey,
    attempts: attempt,
  });
}

interface Refusal {
  readonly code: string;
  readonly message: string;
  readonly details?: Record<string, unknown>;
  readonly retryAfter?: number;
}

/**
 * Reads an error body in either form: `{error: code, message}` or `{error: {code, message, details}}` (R168, R169).
 * Undefined if it has neither.
 */
function refusalIn(body: unknown): Refusal | undefined {
  if (typeof body !== 'object' || body === null || !('error' in body)) return undefined;
  const { error, ...rest } = body as { error: unknown } & Record<string, unknown>;
  const said: Record<string, unknown> =
    typeof error === 'object' && error !== null ? { ...rest, ...error } : { ...rest, code: error };
  const { code, message, details, retryAfter } = said;
  if (typeof code !== 'string' || typeof message !== 'string') return undefined;
  return {
    code,
    message,
    ...(typeof details === 'object' && details !== null
      ? { details: details as Record<string, unknown> }
      : {}),
    ...(typeof retryAfter === 'number' ? { retryAfter } : {}),
  };
}

/** Returns the seconds of a `Retry-After` header, which has a number or a date. */
function secondsIn(header: string | null): number | undefined {
  if (header === null) return undefined;
  const seconds = /^\d+$/.test(header) ? Number(header) : Math.ceil((Date.parse(header) - Date.now()) / 1000);
  return Number.isNaN(seconds) ? undefined : Math.max(0, seconds);
}

function foreignAnswer(call: Call, attempt: number, response: Response, text: string): GatewayError {
  const { status, headers } = response;
  const location = headers.get('location');
  const hint =
    location === null
      ? 'A proxy in between may have sent it, or baseUrl is wrong.'
      : `It leads to ${location}: set baseUrl.`;
  return errorOf({
    code: 'bad_gateway_response',
    statusCode: status,
    message: `${call.operation.method} ${call.operation.path}: the answer ${status} is not the gateway's. ${hint}`,
    details: { contentType: headers.get('content-type'), body: text.slice(0, QUOTED_MAX) },
    requestId: call.requestId,
    retryAfter: secondsIn(headers.get('retry-after')) ?? null,
    idempotencyKey: call.idempotencyKey,
    attempts: attempt,
  });
}

function networkError(call: Call, attempt: number, cause: unknown): GatewayError {
  return errorOf({
    code: 'network_error',
    statusCode: null,
    message: `${call.operation.method} ${call.operation.path}: ${wordsOf(cause)}`,
    requestId: call.requestId,
    idempotencyKey: call.idempotencyKey,
    attempts: attempt,
    cause,
  });
}

/** Returns the message of the innermost cause: the outer message, `fetch failed`, says nothing. */
function wordsOf(error: unknown): string {
  if (typeof error !== 'object' || error === null) return String(error);
  const { message, code, cause } = error as { message?: unknown; code?: unknown; cause?: unknown };
  if (typeof cause === 'object' && cause !== null) return wordsOf(cause);
  return String(message || code || error);
}
