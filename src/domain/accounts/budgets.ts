/**
 * A **budget** is a number of requests in any 60 seconds and, if set, in any second (R11, R12). Keys, client
 * addresses without a key, sessions, and the sends of a person have one each. All processes share them.
 */
import type { MemberCaller, OperatorCaller } from '../caller.ts';
import { DomainError } from '../errors.ts';
import type { AccountStore } from '../ports/account-stores.ts';
import type { Cache, CreateCache } from '../ports/changes.ts';
import type { RateLimiter, RateLimits, RateVerdict } from '../ports/rate-limiter.ts';
import type { Plan } from './account.ts';

/** Limits for accounts without a plan (the RATE_LIMIT_* variables). */
export interface DefaultLimits extends RateLimits {
  readonly webhooksPerMinute: number;
  readonly sessionPerMinute: number;
}

/** The parts of a session that its budget depends on. */
interface CountedSession {
  readonly tokenHash: Buffer;
  readonly caller: MemberCaller | OperatorCaller;
}

/** The bucket of requests without a key or session. `client` is what `clientOf` returns. */
export const bucketOfClient = (client: string) => `address:${client}`;

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
  readonly #defaults: DefaultLimits;
  readonly #plans: Cache<Plan | null>;

  constructor(parts: {
    readonly rateLimiter: RateLimiter;
    readonly defaults: DefaultLimits;
    readonly accounts: Pick<AccountStore, 'find'>;
    readonly createCache: CreateCache;
  }) {
    this.#limiter = parts.rateLimiter;
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
    const plan = caller.kind === 'member' ? await this.#plans.get(caller.accountId) : null;
    const perMinute = plan?.sessionPerMinute ?? this.#defaults.sessionPerMinute;
    await this.#take(`session:${tokenHash.toString('hex')}`, { perMinute, perSecond: 0 }, 'requests');
  }

  /** Counts a message of a person, over all sessions, with the limits of a key (R207). */
  async countSend({ accountId, userId }: MemberCaller): Promise<void> {
    const { perMinute, perSecond } = (await this.#plans.get(accountId)) ?? this.#defaults;
    await this.#take(`sends:${userId}`, { perMinute, perSecond }, 'messages of one person');
  }

  async #take(bucket: string, limits: RateLimits, what: string): Promise<void> {
    const refused = rateRefusal(await this.#limiter.take(bucket, limits), limits, what);
    if (refused) throw refused;
  }
}
