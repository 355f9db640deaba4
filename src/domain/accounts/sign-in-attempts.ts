/**
 * The bounds on guessing passwords. An **attempt** has two **buckets**: its email's and its address's. It is booked as
 * a failure of both before its password is checked, so that many guesses at once are no way around the bound, and
 * **pending** until the check has ended; one that turns out well is taken back.
 */
import { createHash } from 'node:crypto';
import type { Dependencies } from '../dependencies.ts';
import { DomainError } from '../errors.ts';
import type { Tx } from '../ports/stores.ts';

/** Failed sign-ins that an email or an address has in the window before it must wait. */
const FAILURES_MAX = 10;
export const FAILURES_WINDOW_MS = 15 * 60_000;
/** Attempts of a process that wait for others to be judged, and how often each of them does. */
const WAITING_MAX = 200;
const WAITS_MAX = 10;

/** Attempts to sign in, bounded together by all processes. */
export class SignInAttempts {
  readonly #deps: Pick<Dependencies, 'stores' | 'uow' | 'clock' | 'ids'>;
  /** Of this process, with the buckets of each. */
  readonly #pending = new Map<Promise<unknown>, readonly string[]>();
  #waiting = 0;

  constructor(deps: Pick<Dependencies, 'stores' | 'uow' | 'clock' | 'ids'>) {
    this.#deps = deps;
  }

  /**
   * What `check` finds: undefined for a wrong password, which then is a failure. What it finds takes back the failures
   * of the email where `forgives` says so, and this attempt in any case. Throws `rate_limit_exceeded` after
   * ten failures in 15 minutes for the email or the address. While others are pending it waits to see whether they
   * fail; where too many are, it is told to come again in a second.
   */
  async judge<T>(
    email: string,
    address: string,
    check: () => Promise<T | undefined>,
    forgives: (found: T) => boolean,
  ): Promise<T | undefined> {
    const emailBucket = bucketOfEmail(email);
    const buckets = [emailBucket, bucketOf('address', address)].sort();
    const id = this.#deps.ids.uuid();
    for (let waits = 0; ; waits += 1) {
      const before = this.#pendingIn(buckets);
      const refusal = await this.#book(id, buckets);
      if (!refusal) break;
      const pending = [...before, ...this.#pendingIn(buckets)];
      if (pending.length === 0) throw refusal;
      if (waits >= WAITS_MAX || this.#waiting >= WAITING_MAX) throw tooManyAtOnce();
      this.#waiting += 1;
      await Promise.allSettled(pending);
      this.#waiting -= 1;
    }
    const judged = this.#check(id, check, (found) => (forgives(found) ? emailBucket : undefined));
    this.#pending.set(judged, buckets);
    try {
      return await judged;
    } finally {
      this.#pending.delete(judged);
    }
  }

  #pendingIn(buckets: readonly string[]): Promise<unknown>[] {
    const own = [...this.#pending].filter(([, theirs]) => theirs.some((bucket) => buckets.includes(bucket)));
    return own.map(([attempt]) => attempt);
  }

  /** Books an attempt as failed until it is known better, or says why it may not be made. */
  #book(id: string, buckets: readonly string[]): Promise<DomainError | undefined> {
    return this.#deps.uow.run(async (tx) => {
      const now = this.#deps.clock.now();
      const failures = await tx.signInFailures.lock(buckets, new Date(now.getTime() - FAILURES_WINDOW_MS));
      for (const times of failures.values()) {
        const refusal = refusalAfter(times, now);
        if (refusal) return refusal;
      }
      await tx.signInFailures.add(id, buckets, now);
      return undefined;
    });
  }

  async #check<T>(
    id: string,
    check: () => Promise<T | undefined>,
    forgivenBucket: (found: T) => string | undefined,
  ): Promise<T | undefined> {
    const { signInFailures } = this.#deps.stores;
    let found: T | undefined;
    try {
      found = await check();
    } catch (error) {
      // Nobody knows whether the password was right.
      await signInFailures.forget(id);
      throw error;
    }
    if (found !== undefined) await signInFailures.forget(id, forgivenBucket(found));
    return found;
  }
}

/**
 * Takes back all that was tried with an email, at the addresses it came from as well: who gets another password has
 * mostly tried the lost one before, and would still have to wait with the right one.
 */
export function forgiveAttempts(tx: Tx, email: string): Promise<void> {
  return tx.signInFailures.forgetAttempts(bucketOfEmail(email));
}

function refusalAfter(times: readonly Date[], now: Date): DomainError | undefined {
  const tenthLast = times.at(-FAILURES_MAX);
  if (tenthLast === undefined) return undefined;
  const seconds = Math.max(1, Math.ceil((tenthLast.getTime() + FAILURES_WINDOW_MS - now.getTime()) / 1000));
  const message = `Too many sign-ins failed. Try again in ${Math.ceil(seconds / 60)} minutes.`;
  return new DomainError('rate_limit_exceeded', message, undefined, seconds);
}

function tooManyAtOnce(): DomainError {
  const message = 'Too many sign-ins of this email or from this address at once. Try again in a moment.';
  return new DomainError('rate_limit_exceeded', message, undefined, 1);
}

const bucketOfEmail = (email: string): string => bucketOf('email', email.toLowerCase());

/** Hashed, since what people type into the field of the email is sometimes their password. */
function bucketOf(kind: 'email' | 'address', value: string): string {
  return createHash('sha256').update(`${kind} ${value}`).digest('base64url');
}
