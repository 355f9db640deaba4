import type { ApiKey } from '../api-keys/api-key.ts';
import type { RequestStore } from '../ports/request-store.ts';
import type { Clock, Ids } from '../ports/system.ts';
import type { FullBodies, NewApiRequest } from './api-request.ts';
import { loggedBody, maskedPath, withoutSecrets } from './mask-body.ts';

/** An answered request, as the REST API knows it. */
export interface AnsweredRequest {
  readonly key: Pick<ApiKey, 'accountId' | 'keyId' | 'environment'>;
  readonly method: string;
  /** The target as sent, with its query. */
  readonly target: string;
  readonly status: number;
  readonly errorCode: string | null;
  readonly durationMs: number;
  readonly address: string;
  readonly requestId: string;
  /** The header Idempotency-Key. */
  readonly idempotencyKey: string | undefined;
  readonly requestBytes: number;
  readonly requestBody: string | undefined;
  readonly responseBody: string | undefined;
  /** True if the route sends messages. The answer then has the id of the message. */
  readonly isSend: boolean;
}
interface Noted extends AnsweredRequest {
  readonly id: string;
  readonly at: Date;
  readonly skippedBefore: number;
}

/**
 * Largest number of requests that a process holds in memory, between two writes or while the database is unreachable.
 */
const PENDING_MAX = 1_000;
/** Largest number of requests that the log stores on one day in UTC, of all accounts and processes together (R417). */
const REQUESTS_A_DAY = 250_000;
/** Longest idempotency key that is stored. A send refuses a longer one. */
const IDEMPOTENCY_KEY_MAX_LENGTH = 64;

/** A rate limit: `burst` requests may come at once, and then `perSecond` on average. */
interface Rate {
  readonly burst: number;
  readonly perSecond: number;
}
const SUCCESSES: Rate = { burst: 300, perSecond: 0.25 };
const REFUSALS: Rate = { burst: 1_000, perSecond: 0.1 };
const ALL: Rate = { burst: 10_000, perSecond: 2.5 };

interface Allowance {
  tokens: number;
  refilledMs: number;
  /** Number of requests that were dropped since the last logged request. */
  skipped: number;
}

/**
 * Logs REST requests (R415). `note` keeps a request in memory and does not use the database. If the account is over its
 * rate (R417), `note` drops the request after one look-up in a map. `flush` masks the requests in memory and writes
 * them to the database. Call it about once a second.
 */
export class RequestLog {
  readonly #store: Pick<RequestStore, 'add' | 'fullBodies'>;
  readonly #clock: Clock;
  readonly #ids: Ids;
  readonly #isFault: (error: unknown) => boolean;
  readonly #allowances = new Map<string, Allowance>();
  readonly #all: Allowance;
  #pending: Noted[] = [];

  /** `isFault` returns true for a temporary error of the database, such as a lost connection. */
  constructor(parts: {
    store: Pick<RequestStore, 'add' | 'fullBodies'>;
    clock: Clock;
    ids: Ids;
    isFault: (error: unknown) => boolean;
  }) {
    this.#store = parts.store;
    this.#isFault = parts.isFault;
    this.#clock = parts.clock;
    this.#ids = parts.ids;
    this.#all = full(ALL, parts.clock.now().getTime());
  }

  /**
   * Keeps a request in memory, if the rate of its account allows it. Only then calls `answered`, so that the caller
   * does not copy the body of a dropped request.
   */
  note(accountId: string, isRefusal: boolean, answered: () => AnsweredRequest): void {
    const nowMs = this.#clock.now().getTime();
    const rate = isRefusal ? REFUSALS : SUCCESSES;
    const name = isRefusal ? `${accountId} refused` : accountId;
    let allowance = this.#allowances.get(name);
    if (!allowance) {
      allowance = full(rate, nowMs);
      this.#allowances.set(name, allowance);
    }
    refill(allowance, rate, nowMs);
    refill(this.#all, ALL, nowMs);
    if (allowance.tokens < 1 || this.#all.tokens < 1 || this.#pending.length >= PENDING_MAX) {
      allowance.skipped += 1;
      return;
    }
    allowance.tokens -= 1;
    this.#all.tokens -= 1;
    const skippedBefore = allowance.skipped;
    allowance.skipped = 0;
    this.#pending.push({ ...answered(), id: this.#ids.uuid(), at: new Date(nowMs), skippedBefore });
  }

  /**
   * Stores the requests that were noted since the last `flush`. Rejects with the database's error. After a temporary
   * error, the requests stay in memory. After any other error they are dropped, because writing them would fail again.
   */
  async flush(): Promise<void> {
    this.#forgetIdle();
    const batch = this.#pending;
    if (batch.length === 0) return;
    this.#pending = [];
    try {
      const accountIds = [...new Set(batch.map(({ key }) => key.accountId))];
      const fullBodies = await this.#store.fullBodies(accountIds);
      const rows = batch.map((noted) => rowOf(noted, fullBodies.get(noted.key.accountId)));
      await this.#store.add(this.#clock.now(), rows, REQUESTS_A_DAY);
    } catch (error) {
      if (this.#isFault(error)) this.#pending = [...batch, ...this.#pending].slice(0, PENDING_MAX);
      throw error;
    }
  }

  /** Removes the accounts whose full burst is available again. */
  #forgetIdle(): void {
    const nowMs = this.#clock.now().getTime();
    for (const [name, allowance] of this.#allowances) {
      const rate = name.endsWith(' refused') ? REFUSALS : SUCCESSES;
      refill(allowance, rate, nowMs);
      if (allowance.tokens >= rate.burst && allowance.skipped === 0) this.#allowances.delete(name);
    }
  }
}

const full = ({ burst }: Rate, nowMs: number): Allowance => ({
  tokens: burst,
  refilledMs: nowMs,
  skipped: 0,
});

function refill(allowance: Allowance, { burst, perSecond }: Rate, nowMs: number): void {
  const seconds = Math.max(0, nowMs - allowance.refilledMs) / 1000;
  allowance.tokens = Math.min(burst, allowance.tokens + seconds * perSecond);
  allowance.refilledMs = nowMs;
}

function rowOf(noted: Noted, whole: FullBodies | undefined): NewApiRequest {
  const { key, target, isSend, requestBody, responseBody, idempotencyKey, ...rest } = noted;
  const asked = loggedBody(requestBody);
  const answer = loggedBody(responseBody, noted.status >= 400);
  const isWhole = whole !== undefined && noted.at >= whole.from && noted.at < whole.until;
  const messageId = isSend && noted.status === 200 ? answer.members?.id : undefined;
  return {
    ...rest,
    ...key,
    path: maskedPath(target),
    requestId: withoutSecrets(noted.requestId),
    idempotencyKey: isSend ? storedKey(idempotencyKey ?? asked.members?.idempotencyKey) : null,
    messageId: typeof messageId === 'string' ? messageId : null,
    requestBody: asked.masked,
    responseBody: answer.masked,
    fullRequestBody: isWhole ? asked.full : null,
    fullResponseBody: isWhole ? answer.full : null,
  };
}

/**
 * Returns the idempotency key in its stored form. Null for a key that a send refuses, because PostgreSQL may be unable
 * to store it.
 */
function storedKey(given: unknown): string | null {
  const isKey = typeof given === 'string' && given.length <= IDEMPOTENCY_KEY_MAX_LENGTH;
  return isKey && given.isWellFormed() && !given.includes('\0') ? withoutSecrets(given) : null;
}
