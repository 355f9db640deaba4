/**
 * The common part of SMS carriers with an HTTP API. Each carrier has a file of its own, which builds the requests and
 * reads the answers and callbacks.
 */

import type {
  DeliveryReport,
  InboundText,
  Provider,
  ProviderBalance,
  ProviderHealth,
  ProviderOutcome,
  ProviderProbe,
  SmsSubmission,
  SubmitOutcome,
} from '../../domain/ports/provider.ts';
import type { InboundAnswer, SmsCallback } from '../../domain/ports/sms-callbacks.ts';
import { mayLeave } from '../may-leave.ts';
import { noAnswer, ProviderHttp, type ProviderRequest, REQUEST_TIMEOUT } from '../provider-http.ts';

/** An answer of the carrier's API. */
export interface ApiAnswer {
  readonly status: number;
  /**
   * The body, if it is a JSON object. Otherwise undefined: such an answer may come from a proxy in front of the API.
   */
  readonly body: Readonly<Record<string, unknown>> | undefined;
}

/**
 * The meaning of an answer. `own`: the operator must fix the account, its credentials or its credit, because all
 * messages fail.
 */
export type ApiOutcome = SubmitOutcome | { readonly kind: 'own'; readonly reason: string };

/** The API of one carrier. */
export interface HttpCarrierApi {
  /** The scheme of the carrier's URL in SMS_ROUTES, and the last segment of the path of its callbacks. */
  readonly kind: string;
  readonly name: string;
  readonly baseUrl: string;
  /** Set if nobody can tell who sent a callback. A warning that names the risk, and the setting that removes it. */
  readonly openCallbacks?: string | undefined;
  /** Time limit of one request in ms. */
  readonly timeoutMs?: number | undefined;
  /** The clock for deadlines. Default: the clock of the process. */
  readonly now?: (() => Date) | undefined;
  /** Returns the request: the path, the fields of the form, and the headers other than the content type. */
  request(submission: SmsSubmission): Pick<ProviderRequest, 'path' | 'headers'> & {
    readonly form: Readonly<Record<string, string>>;
  };
  /** Reads an answer. Answers with the status 408, 429 or 5xx are handled before. */
  read(answer: ApiAnswer, submission: SmsSubmission): ApiOutcome;
  /**
   * The request that reads the account's balance. It also checks the credentials. Undefined if the API has no such
   * request.
   */
  readonly balance?: Pick<ProviderRequest, 'path' | 'headers'> & {
    /** Returns the balance in an answer. Undefined if it has none. */
    read(body: ApiAnswer['body']): ProviderBalance | undefined;
  };
  /** Returns the reports in a callback. Undefined if the callback does not come from this carrier's account. */
  readCallback(callback: SmsCallback): readonly DeliveryReport[] | undefined;
  /**
   * Returns the text from a subscriber in a callback that `readCallback` accepted. Undefined if it has none. Not called
   * for callbacks that anybody could send. Undefined if the carrier receives no texts.
   */
  readInbound?(form: URLSearchParams): InboundText | undefined;
  /** The answer that the carrier wants to a text. Default: an empty JSON object. */
  readonly inboundAnswer?: InboundAnswer;
}

const LOOPBACK = /^(localhost|127\.[0-9.]+|\[::1\])$/;

/** True if the host of a URL is this machine. */
export function isLoopbackHost(hostname: string): boolean {
  return LOOPBACK.test(hostname);
}

/** The parts of a carrier's URL, `kind://user:secret@host[?…]`. Plain HTTP is used only for this machine. */
export interface HttpCarrierUrl {
  readonly user: string;
  readonly secret: string;
  readonly host: string;
  readonly baseUrl: string;
  readonly isLoopback: boolean;
  readonly query: URLSearchParams;
}

/** Reads a carrier's URL. Throws an Error that says what is wrong and never contains the secret. */
export function parseCarrierUrl(url: string, parameters: readonly string[] = []): HttpCarrierUrl {
  const kind = url.slice(0, url.indexOf(':'));
  const parsed = URL.parse(url);
  const fault = (what: string) => new Error(`the ${kind} URL ${what}`);
  if (parsed === null || parsed.hostname === '') throw fault('names no host');
  if (parsed.username === '' || parsed.password === '') throw fault('needs a user and a secret before the @');
  for (const name of parsed.searchParams.keys()) {
    if (!parameters.includes(name)) throw fault(`has an unknown parameter ${name}`);
  }
  const decode = (text: string) => {
    try {
      return decodeURIComponent(text);
    } catch {
      throw fault('is not percent-encoded correctly');
    }
  };
  const isLoopback = isLoopbackHost(parsed.hostname);
  return {
    user: decode(parsed.username),
    secret: decode(parsed.password),
    host: parsed.host,
    baseUrl: `${isLoopback ? 'http' : 'https'}://${parsed.host}${parsed.pathname}`,
    isLoopback,
    query: parsed.searchParams,
  };
}

/** A carrier with an HTTP API. Its reports arrive as callbacks in the process that serves the REST API. */
export class HttpCarrier implements Provider<SmsSubmission> {
  readonly name: string;
  readonly api: HttpCarrierApi;
  readonly probe?: () => Promise<ProviderProbe>;
  readonly tellsBalance: boolean;
  readonly #http: ProviderHttp;
  #trouble: string | undefined;
  #stopped: Promise<void> | undefined;

  constructor(api: HttpCarrierApi) {
    this.name = api.name;
    this.api = api;
    const { baseUrl, timeoutMs, now, balance } = api;
    this.tellsBalance = balance !== undefined;
    if (balance) this.probe = () => this.#askBalance(balance);
    this.#http = new ProviderHttp({
      baseUrl,
      now,
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
    });
  }

  start(): void {}

  async submit(submission: SmsSubmission, signal: AbortSignal): Promise<ProviderOutcome> {
    const write = () => this.#requestFor(submission);
    const exchange = await this.#http.post(write, {
      signal,
      expiresAt: submission.expiresAt,
      mayLeave: () => mayLeave(submission),
    });
    if (exchange.kind === 'failure') {
      if (!exchange.onlyThis) this.#trouble = exchange.reason;
      return noAnswer('the carrier', exchange);
    }
    const { status, retryAfterMs } = exchange;
    const pause = retryAfterMs === undefined ? {} : { retryAfterMs };
    if (status === 429) {
      return {
        kind: 'unavailable',
        asked: true,
        reason: 'the carrier answered 429: too many requests',
        definitelyNotSent: true,
        ...pause,
      };
    }
    if (status >= 500 || status === REQUEST_TIMEOUT) {
      this.#trouble = `answered ${status}`;
      return { kind: 'unavailable', asked: true, reason: `the carrier answered ${status}`, ...pause };
    }
    const outcome = this.api.read(exchange, submission);
    if (outcome.kind === 'own') {
      this.#trouble = outcome.reason;
      return {
        kind: 'unavailable',
        asked: true,
        reason: `the carrier: ${outcome.reason}`,
        definitelyNotSent: true,
      };
    }
    this.#trouble = undefined;
    return outcome.kind === 'accepted' ? outcome : { ...outcome, asked: true };
  }

  stop(): Promise<void> {
    this.#stopped ??= this.#http.close();
    return this.#stopped;
  }

  health(): ProviderHealth {
    const base = { name: this.name, inFlight: this.#http.inFlight };
    if (this.#http.isClosed) return { ...base, state: 'down', detail: 'stopped' };
    if (this.#trouble !== undefined) return { ...base, state: 'down', detail: this.#trouble };
    const { openCallbacks } = this.api;
    return { ...base, state: 'up', ...(openCallbacks === undefined ? {} : { detail: openCallbacks }) };
  }

  async #askBalance({ path, headers, read }: NonNullable<HttpCarrierApi['balance']>): Promise<ProviderProbe> {
    const exchange = await this.#http.get({ path, headers: { ...headers, accept: 'application/json' } });
    if (exchange.kind === 'failure') throw new Error(exchange.reason);
    if (exchange.status === 401 || exchange.status === 403) {
      throw new Error(`the carrier refuses the credentials (${exchange.status})`);
    }
    if (exchange.status >= 300) throw new Error(`the carrier answered ${exchange.status}`);
    const balance = read(exchange.body);
    if (!balance) return { detail: 'the credentials are accepted' };
    const { amount, currency } = balance;
    return { detail: `the credentials are accepted; ${currency} ${amount} left`, balance };
  }

  #requestFor(submission: SmsSubmission): ProviderRequest {
    const { path, headers, form } = this.api.request(submission);
    return {
      path,
      headers: {
        ...headers,
        'content-type': 'application/x-www-form-urlencoded',
        accept: 'application/json',
      },
      body: new URLSearchParams({ ...form }).toString(),
    };
  }
}

/** Returns a field of a callback. An empty field counts as absent. */
export function field(form: URLSearchParams, name: string): string | undefined {
  return form.get(name) || undefined;
}

/** Returns a member of parsed JSON that may have any shape. */
export function member(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}
