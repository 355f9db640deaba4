/**
 * A **budget** is a number of requests that are allowed in any 60 seconds and, if set, in any second (R11, R12). Each
 * of these has a budget: a key, a session, a client without a key or session, and the sends of a person. All processes
 * share the budgets. Points limit GraphQL queries in a budget of their own (R280).
 */
import type { MemberCaller, OperatorCaller } from '../caller.ts';
import { DomainError } from '../errors.ts';
import type { AccountStore } from '../ports/account-stores.ts';
import type { Cache, CreateCache } from '../ports/changes.ts';
import type { PrimaryWatch } from '../ports/primary.ts';
import type {
  PointBudget,
  PointVerdict,
  RateLimiter,
  RateLimits,
  RateVerdict,
} from '../ports/rate-limiter.ts';
import type { Clock } from '../ports/system.ts';
import type { Plan } from './account.ts';
import { LocalCounts } from './local-counts.ts';

/** Limits for accounts without a plan (the RATE_LIMIT_* variables). */
export interface DefaultLimits extends RateLimits {
  readonly webhooksPerMinute: number;
  readonly sessionPerMinute: number;
  /** Points per minute for the GraphQL queries of a session, or of an IP address without a session. */
  readonly pointsPerMinute: number;
}

/** The parts of a session that its budget needs: `tokenHash` names the bucket, and `caller` decides the limit. */
interface CountedSession {
  readonly tokenHash: Buffer;
  readonly caller: MemberCaller | OperatorCaller;
}

/**
 * The session or client whose budget a query uses. Without a session, the query uses the budget of the client. `client`
 * is what `clientOf` returns.
 */
export interface Payer {
  readonly session: CountedSession | undefined;
  readonly client: string;
}

/** The bucket of requests without a key or session. `client` is what `clientOf` returns. */
export const bucketOfClient = (client: string) => `address:${client}`;

const bucketOfSession = ({ tokenHash }: Pick<CountedSession, 'tokenHash'>) =>
  `session:${tokenHash.toString('hex')}`;
const bucketOf = ({ session, client }: Payer) =>
  session ? bucketOfSession(session) : bucketOfClient(client);

/**
 * Returns the error for a request that the limiter refused. Undefined if it was allowed. `what` is the text in the
 * error that says what the limit counts.
 */
export function rateRefusal(
  verdict: RateVerdict,
  { perMinute, perSecond }: RateLimits,
  what: string,
): DomainError | undefined {
  if (verdict.isAllowed) return undefined;
  const rule =
    verdict.rule === 'second' ? `${perSecond} ${what} in one second` : `${perMinute} ${what} in 60 seconds`;
  const seconds = verdict.retryAfterSeconds;
  const message = `More than ${rule}. Try again in ${seconds} s.`;
  return new DomainError('rate_limit_exceeded', message, undefined, seconds);
}

/**
 * Budgets of people and of anonymous clients. The methods whose names begin with `count` throw `rate_limit_exceeded`
 * when the budget is used up.
 */
export class Budgets {
  readonly #limiter: RateLimiter;
  readonly #points: PointBudget;
  readonly #defaults: DefaultLimits;
  readonly #plans: Cache<Plan | null>;
  readonly #clock: Clock;
  readonly #primary: PrimaryWatch | undefined;
  readonly #requestsHere = new LocalCounts();
  readonly #pointsHere = new LocalCounts();

  /** With `primary`, this process counts alone while there is no primary (R520). */
  constructor(parts: {
    readonly rateLimiter: RateLimiter;
    readonly points: PointBudget;
    readonly defaults: DefaultLimits;
    readonly accounts: Pick<AccountStore, 'find'>;
    readonly createCache: CreateCache;
    readonly clock: Clock;
    readonly primary?: PrimaryWatch | undefined;
  }) {
    this.#clock = parts.clock;
    this.#primary = parts.primary;
    this.#limiter = parts.rateLimiter;
    this.#points = parts.points;
    this.#defaults = parts.defaults;
    this.#plans = parts.createCache('account', async (id) => {
      return (await parts.accounts.find(id))?.plan ?? null;
    });
  }

  /** Counts a request without a session against the budget of its client's IP address (R11). */
  async countAnyone(client: string): Promise<void> {
    await this.#take(bucketOfClient(client), this.#defaults, 'requests');
  }

  /** Counts a request of a signed-in person. Operators have the default budget. */
  async countRequest({ tokenHash, caller }: CountedSession): Promise<void> {
    const bucket = bucketOfSession({ tokenHash });
    const counted = await this.#unlessAway(async () => {
      const perMinute = await this.requestsPerMinute(caller);
      await this.#take(bucket, { perMinute, perSecond: 0 }, 'requests');
    });
    if (counted) return;
    const perMinute = this.#defaults.sessionPerMinute;
    const verdict = this.#requestsHere.take(bucket, perMinute, 1, this.#clock.now());
    if (verdict.isAllowed) return;
    const message = `More than ${perMinute} requests in 60 seconds. Try again in ${verdict.retryAfterSeconds} s.`;
    throw new DomainError('rate_limit_exceeded', message, undefined, verdict.retryAfterSeconds);
  }

  /**
   * Returns how many requests per minute a caller's session may make. For a caller without a session, how many its IP
   * address may make.
   */
  async requestsPerMinute(caller: CountedSession['caller'] | undefined): Promise<number> {
    if (!caller) return this.#defaults.perMinute;
    const plan = caller.kind === 'member' ? await this.#plans.get(caller.accountId) : null;
    return plan?.sessionPerMinute ?? this.#defaults.sessionPerMinute;
  }

  /**
   * Counts a message that a person sends, over all sessions of the person. The limits are the same as for an API key
   * (R207).
   */
  async countSend({ accountId, userId }: MemberCaller): Promise<void> {
    const { perMinute, perSecond } = (await this.#plans.get(accountId)) ?? this.#defaults;
    await this.#take(`sends:${userId}`, { perMinute, perSecond }, 'messages of one person');
  }

  /** Number of points that a session or client has in a minute. The minute begins with its first query. */
  get pointsPerMinute(): number {
    return this.#defaults.pointsPerMinute;
  }

  /**
   * Takes the estimated points of a query, all or none (R280). Returns a verdict with `isAllowed` false if they do not
   * fit. It does not throw.
   */
  async takePoints(payer: Payer, points: number): Promise<PointVerdict> {
    const [bucket, perMinute] = [bucketOf(payer), this.pointsPerMinute];
    const taken = await this.#unlessAway(() => this.#points.take(bucket, perMinute, points));
    return taken ? taken.result : this.#pointsHere.take(bucket, perMinute, points, this.#clock.now());
  }

  /** Gives back points of `takePoints` that the query did not use. A negative number takes more points. */
  giveBackPoints(payer: Payer, verdict: PointVerdict, points: number): void {
    this.#points.giveBack(bucketOf(payer), verdict, points);
  }

  /** Returns the error for a query whose points do not fit in the minute. */
  pointRefusal({ remaining, retryAfterSeconds }: PointVerdict, points: number): DomainError {
    const budget = this.pointsPerMinute;
    const wait = points > budget ? 'Ask for less at once.' : `Try again in ${retryAfterSeconds} s.`;
    const message = `The query costs ${points} points; ${remaining} of ${budget} a minute are left. ${wait}`;
    return new DomainError('rate_limit_exceeded', message, undefined, retryAfterSeconds);
  }

  async #unlessAway<T>(work: () => Promise<T>): Promise<{ readonly result: T } | undefined> {
    return this.#primary ? this.#primary.unlessAway(work) : { result: await work() };
  }

  async #take(bucket: string, limits: RateLimits, what: string): Promise<void> {
    const refused = rateRefusal(await this.#limiter.take(bucket, limits), limits, what);
    if (refused) throw refused;
  }
}
