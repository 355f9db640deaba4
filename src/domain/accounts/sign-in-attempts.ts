/**
 * Limits how often passwords and codes can be guessed. An **attempt** counts in two **buckets**: one for its email
 * address and one for its IP address. For people who have used the same device before, an attempt counts only in one
 * bucket, for this device and email address (R302).
 *
 * An attempt is stored as a failure before its password is checked, so that parallel guesses cannot exceed the limit.
 * It is **pending** until the check ends. If the password was right, the failure is usually removed (`Forgiven`).
 */
import { createHash } from 'node:crypto';
import type { Dependencies } from '../dependencies.ts';
import { DomainError } from '../errors.ts';
import type { Tx } from '../ports/stores.ts';

/** Largest number of failed sign-ins in a bucket within the time window. */
const FAILURES_MAX = 10;
/**
 * Largest number of requests for a mail within the time window, for one email address and from one IP address. Unknown
 * email addresses count, too.
 */
const MAILS_MAX = { email: 5, address: 20 } as const;
export const FAILURES_WINDOW_MS = 15 * 60_000;
/** Largest number of attempts in a process that wait for pending attempts, and how often one attempt may wait. */
const WAITING_MAX = 200;
const WAITS_MAX = 10;

/**
 * What somebody tries to guess. `email`: the password of an email address. `device`: the passwords of the people with
 * an email address who have used the device before. `code`: the codes of the person with the id `value`.
 */
interface AttemptSubject {
  readonly kind: 'email' | 'code' | 'device';
  readonly value: string;
}

/**
 * Which failures are removed after a right password or code. `attempt`: the failure of this attempt. `bucket`: also all
 * other failures of the subject. `address`: the failure of this attempt in the bucket of the IP address. The failure
 * still counts in the bucket of the subject.
 */
export type Forgiven = 'address' | 'attempt' | 'bucket';

/** Counts sign-in attempts over all processes. */
export class SignInAttempts {
  readonly #deps: Pick<Dependencies, 'stores' | 'uow' | 'clock' | 'ids'>;
  /** The pending attempts of this process, with their buckets. */
  readonly #pending = new Map<Promise<unknown>, readonly string[]>();
  #waiting = 0;

  constructor(deps: Pick<Dependencies, 'stores' | 'uow' | 'clock' | 'ids'>) {
    this.#deps = deps;
  }

  /**
   * Runs `check`, which returns undefined for a wrong password. After a right password, `forgives` says which failures
   * are removed. Throws `rate_limit_exceeded` after ten failures in 15 minutes in one of the buckets.
   *
   * If pending attempts use up the limit, waits for their results. If too many attempts wait, throws
   * `rate_limit_exceeded` with a retry after one second.
   */
  async attempt<T>(
    subject: AttemptSubject,
    address: string | undefined,
    check: () => Promise<T | undefined>,
    forgives: (found: T) => Forgiven,
  ): Promise<T | undefined> {
    const ownBucket = bucketOf(subject.kind, subject.value.toLowerCase());
    const buckets = [ownBucket, ...(address === undefined ? [] : [bucketOf('address', address)])].sort();
    const id = this.#deps.ids.uuid();
    for (let waits = 0; ; waits += 1) {
      const before = this.#pendingIn(buckets);
      const refusal = await this.#recordFailure(id, buckets);
      if (!refusal) break;
      const pending = [...before, ...this.#pendingIn(buckets)];
      if (pending.length === 0) throw refusal;
      if (waits >= WAITS_MAX || this.#waiting >= WAITING_MAX) throw tooManyAtOnce();
      this.#waiting += 1;
      await Promise.allSettled(pending);
      this.#waiting -= 1;
    }
    const checked = this.#check(id, ownBucket, check, forgives);
    this.#pending.set(checked, buckets);
    try {
      return await checked;
    } finally {
      this.#pending.delete(checked);
    }
  }

  #pendingIn(buckets: readonly string[]): Promise<unknown>[] {
    const own = [...this.#pending].filter(([, theirs]) => theirs.some((bucket) => buckets.includes(bucket)));
    return own.map(([attempt]) => attempt);
  }

  /** Stores the attempt as a failure. If the limit is reached, stores nothing and returns the error. */
  #recordFailure(id: string, buckets: readonly string[]): Promise<DomainError | undefined> {
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
    ownBucket: string,
    check: () => Promise<T | undefined>,
    forgives: (found: T) => Forgiven,
  ): Promise<T | undefined> {
    const { signInFailures } = this.#deps.stores;
    let found: T | undefined;
    try {
      found = await check();
    } catch (error) {
      // The check itself failed, so nobody knows whether the password was right. Do not count the attempt.
      await signInFailures.forget(id);
      throw error;
    }
    if (found === undefined) return undefined;
    const forgiven = forgives(found);
    if (forgiven === 'address') await signInFailures.forgetElsewhere(id, ownBucket);
    else await signInFailures.forget(id, forgiven === 'bucket' ? ownBucket : undefined);
    return found;
  }
}

/**
 * Removes all failed attempts with an email address, also from the buckets of their IP addresses. Called after a
 * password reset. The person has usually tried the lost password before, and would have to wait before using the new
 * one.
 */
export function forgetFailedAttempts(tx: Tx, email: string): Promise<void> {
  return tx.signInFailures.forgetAttempts(bucketOfEmail(email));
}

/**
 * Counts a request that mails a person, whether the email address is known or not. Throws `rate_limit_exceeded` after
 * too many requests in 15 minutes, for the email address or from the IP address.
 */
export async function countMailRequest(
  tx: Tx,
  { clock, ids }: Pick<Dependencies, 'clock' | 'ids'>,
  email: string,
  address: string,
): Promise<void> {
  const now = clock.now();
  const bounds = new Map([
    [bucketOf('mail to', email.toLowerCase()), MAILS_MAX.email],
    [bucketOf('mail from', address), MAILS_MAX.address],
  ]);
  const buckets = [...bounds.keys()].sort();
  const counted = await tx.signInFailures.lock(buckets, new Date(now.getTime() - FAILURES_WINDOW_MS));
  for (const [bucket, most] of bounds) {
    const seconds = secondsUntilFree(counted.get(bucket) ?? [], most, now);
    if (seconds === undefined) continue;
    const message = `Too many mails were asked for. Try again in ${Math.ceil(seconds / 60)} minutes.`;
    throw new DomainError('rate_limit_exceeded', message, undefined, seconds);
  }
  await tx.signInFailures.add(ids.uuid(), buckets, now);
}

/**
 * Returns the seconds until fewer than `most` of these times are in the time window. Undefined if there are fewer now.
 */
function secondsUntilFree(times: readonly Date[], most: number, now: Date): number | undefined {
  const oldest = times.at(-most);
  if (oldest === undefined) return undefined;
  return Math.max(1, Math.ceil((oldest.getTime() + FAILURES_WINDOW_MS - now.getTime()) / 1000));
}

function refusalAfter(times: readonly Date[], now: Date): DomainError | undefined {
  const seconds = secondsUntilFree(times, FAILURES_MAX, now);
  if (seconds === undefined) return undefined;
  const message = `Too many sign-ins failed. Try again in ${Math.ceil(seconds / 60)} minutes.`;
  return new DomainError('rate_limit_exceeded', message, undefined, seconds);
}

function tooManyAtOnce(): DomainError {
  const message = 'Too many sign-ins of this email or from this address at once. Try again in a moment.';
  return new DomainError('rate_limit_exceeded', message, undefined, 1);
}

const bucketOfEmail = (email: string): string => bucketOf('email', email.toLowerCase());

/** Returns the name of a bucket. It is a hash, because people sometimes type their password into the email field. */
function bucketOf(kind: AttemptSubject['kind'] | 'address' | 'mail to' | 'mail from', value: string): string {
  return createHash('sha256').update(`${kind} ${value}`).digest('base64url');
}
