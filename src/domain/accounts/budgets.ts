/**
 * A **budget** is a number of requests in any 60 seconds and, if set, in any second (R11, R12). Keys, client
 * addresses without a key, sessions, and the sends of a person have one each. All processes share them.
 */
import type { MemberCaller, OperatorCaller } from '../caller.ts';
import { DomainError } from '../errors.ts';
import type { AccountStore } from '../ports/account-stores.ts';
import type { Cache, CreateCache } from '../ports/changes.ts';
import type {
  PointBudget,
  PointVerdict,
  RateLimiter,
  RateLimits,
  RateVerdict,
} from '../ports/rate-limiter.ts';
import type { Plan } from './account.ts';

/** Limits for accounts without a plan (the RATE_LIMIT_* variables). */
export interface DefaultLimits extends RateLimits {
  readonly webhooksPerMinute: number;
  readonly sessionPerMinute: number;
  /** Points of GraphQL queries, of a session or of an address without one. */
  readonly pointsPerMinute: number;
}

/** The parts of a session that its budget depends on. */
interface CountedSession {
  readonly tokenHash: Buffer;
  readonly caller: MemberCaller | OperatorCaller;
}

/** Who pays for a query: a session, or the client's address without one. */
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

/** The refusal for a verdict of the limiter; undefined when the request passed. `what` names what is counted. */
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
 * Budgets of people and of anonymous clients. Each method throws `rate_limit_exceeded` when the budget is used up.
 */
export class Budgets {
  readonly #limiter: RateLimiter;
  readonly #points: PointBudget;
  readonly #defaults: DefaultLimits;
  readonly #plans: Cache<Plan | null>;

  constructor(parts: {
    readonly rateLimiter: RateLimiter;
    readonly points: PointBudget;
    readonly defaults: DefaultLimits;
    readonly accounts: Pick<AccountStore, 'find'>;
    readonly createCache: CreateCache;
  }) {
    this.#limiter = parts.rateLimiter;
    this.#points = parts.points;
    this.#defaults = parts.defaults;
    this.#plans = parts.createCache('account', async (id) => {
      return (await parts.accounts.find(id))?.plan ?? null;
    });
  }

  /** Counts an anonymous request on the budget of its client (R11). */
  async countAnyone(client: string): Promise<void> {
    await this.#take(bucketOfClient(client), this.#defaults, 'requests');
  }

  /** Counts a request of a signed-in person. Operators have the default budget. */
  async countRequest({ tokenHash, caller }: CountedSession): Promise<void> {
    const perMinute = await this.requestsPerMinute(caller);
    await this.#take(bucketOfSession({ tokenHash }), { perMinute, perSecond: 0 }, 'requests');
  }

  /** Requests of each session of a person in a minute, or of an address for a caller without one. */
  async requestsPerMinute(caller: CountedSession['caller'] | undefined): Promise<number> {
    if (!caller) return this.#defaults.perMinute;
    const plan = caller.kind === 'member' ? await this.#plans.get(caller.accountId) : null;
    return plan?.sessionPerMinute ?? this.#defaults.sessionPerMinute;
  }

  /** Counts a message of a person, over all sessions, with the limits of a key (R207). */
  async countSend({ accountId, userId }: MemberCaller): Promise<void> {
    const { perMinute, perSecond } = (await this.#plans.get(accountId)) ?? this.#defaults;
    await this.#take(`sends:${userId}`, { perMinute, perSecond }, 'messages of one person');
  }

  /** Points of a payer in a minute that its first query begins. */
  get pointsPerMinute(): number {
    return this.#defaults.pointsPerMinute;
  }

  /** Takes the estimated points of a query, all or none (R280). Does not throw when they do not fit. */
  takePoints(payer: Payer, points: number): Promise<PointVerdict> {
    return this.#points.take(bucketOf(payer), this.pointsPerMinute, points);
  }

  /** Gives back points of `takePoints` that the query did not use; fewer than 0 takes more. */
  giveBackPoints(payer: Payer, verdict: PointVerdict, points: number): void {
    this.#points.giveBack(bucketOf(payer), verdict, points);
  }

  /** The refusal of a query whose points do not fit in the minute. */
  pointRefusal({ remaining, retryAfterSeconds }: PointVerdict, points: number): DomainError {
    const budget = this.pointsPerMinute;
    const wait = points > budget ? 'Ask for less at once.' : `Try again in ${retryAfterSeconds} s.`;
    const message = `The query costs ${points} points; ${remaining} of ${budget} a minute are left. ${wait}`;
    return new DomainError('rate_limit_exceeded', message, undefined, retryAfterSeconds);
  }

  async #take(bucket: string, limits: RateLimits, what: string): Promise<void> {
    const refused = rateRefusal(await this.#limiter.take(bucket, limits), limits, what);
    if (refused) throw refused;
  }
}
