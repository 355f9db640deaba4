/**
 * A **budget** is how many requests may be made in any 60 seconds, and perhaps in any second (R11 and R12): that
 * of a key, of an address for requests that nobody stands for, of a session, and of a person for what they send. All
 * processes count on the same ones.
 */
import type { MemberCaller, OperatorCaller } from '../caller.ts';
import { DomainError } from '../errors.ts';
import type { AccountStore } from '../ports/account-stores.ts';
import type { Cache, CreateCache } from '../ports/changes.ts';
import type { RateLimiter, RateLimits, RateVerdict } from '../ports/rate-limiter.ts';
import type { Plan } from './account.ts';

/** What holds where an account has no plan, or its plan has no figure (the RATE_LIMIT_* variables). */
export interface DefaultLimits extends RateLimits {
  readonly webhooksPerMinute: number;
  readonly sessionPerMinute: number;
}

/** A session, as far as its budget goes. */
interface CountedSession {
  readonly tokenHash: Buffer;
  readonly caller: MemberCaller | OperatorCaller;
}

/** The bucket of requests that neither a key nor a session stands for; `client` as `clientOf` gives it. */
export const bucketOfClient = (client: string) => `address:${client}`;

/** Why the limiter refused a request under these limits; undefined when it passed. `what` names what is counted. */
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

/** The budgets of people and of nobody. Each method throws `rate_limit_exceeded` where the budget is used up. */
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

  /** Counts a request that nobody stands for on its client's address (R11). */
  async countAnyone(client: string): Promise<void> {
    await this.#take(bucketOfClient(client), this.#defaults, 'requests');
  }

  /** Counts a request of somebody who is signed in; operators, who are in no account, have the default. */
  async countRequest({ tokenHash, caller }: CountedSession): Promise<void> {
    const plan = caller.kind === 'member' ? await this.#plans.get(caller.accountId) : null;
    const perMinute = plan?.sessionPerMinute ?? this.#defaults.sessionPerMinute;
    await this.#take(`session:${tokenHash.toString('hex')}`, { perMinute, perSecond: 0 }, 'requests');
  }

  /** Counts what a person sends, in all their sessions, on figures like a key's. */
  async countSend({ accountId, userId }: MemberCaller): Promise<void> {
    const { perMinute, perSecond } = (await this.#plans.get(accountId)) ?? this.#defaults;
    await this.#take(`sends:${userId}`, { perMinute, perSecond }, 'messages of one person');
  }

  async #take(bucket: string, limits: RateLimits, what: string): Promise<void> {
    const refused = rateRefusal(await this.#limiter.take(bucket, limits), limits, what);
    if (refused) throw refused;
  }
}
