import type { AccountEnvironment, Visibility } from '../caller.ts';
import type { KeyRange, Page, PageRequest } from '../paging.ts';
import type {
  SuppressedAddress,
  SuppressedChannel,
  Suppression,
  SuppressionPlace,
} from '../suppressions/suppression.ts';

export interface SuppressionFilter {
  readonly channel?: SuppressedChannel | undefined;
  /** The forms in which the address may be stored: as it is, and hashed. */
  readonly addresses?: readonly string[] | undefined;
}

/** Stores suppressions (R377). */
export interface SuppressionStore {
  /** Returns whether the account has suppressions, and whether some may be of erased people (R492). */
  any(accountId: string): Promise<'none' | 'plain' | 'hashed'>;
  /** Returns the suppressed addresses among the given ones. */
  among(
    owner: AccountEnvironment,
    channel: SuppressedChannel,
    addresses: readonly string[],
  ): Promise<readonly SuppressedAddress[]>;
  /** Returns the number of an account's suppressions, or `most` if there are more. */
  countUpTo(accountId: string, most: number): Promise<number>;
  /** Returns the first `limit` places of an account's suppressions that come after `after`, in a fixed order. */
  places(
    accountId: string,
    after: SuppressionPlace | undefined,
    limit: number,
  ): Promise<readonly SuppressionPlace[]>;
  /**
   * Stores a suppression. If the address already has a suppression, changes its scope, reason and source, and keeps its
   * id. Returns the stored suppression.
   */
  set(suppression: Suppression): Promise<Suppression>;
  /**
   * Stores a suppression and returns its id. Undefined if the address is suppressed already: nothing changes then, but
   * one of the scope `marketing` is remembered below a STOP, and holds again after START.
   */
  add(suppression: Suppression): Promise<string | undefined>;
  /**
   * Stores a suppression of the scope `all`, and returns its id. Replaces one of the scope `marketing`, for a STOP until
   * `liftStop`. Undefined if the scope is `all` already: nothing changes then.
   */
  widen(suppression: Suppression): Promise<string | undefined>;
  /**
   * Stores suppressions of different addresses of one account, those of the scope `all` like `widen`, the others like
   * `add`. Returns the number of those that changed something.
   */
  addAll(suppressions: readonly Suppression[]): Promise<number>;
  find(visibility: Visibility, id: string): Promise<Suppression | undefined>;
  page(
    owner: AccountEnvironment,
    filter: SuppressionFilter,
    request: PageRequest,
  ): Promise<Page<Suppression>>;
  slice(
    owner: AccountEnvironment,
    filter: SuppressionFilter,
    range: KeyRange,
  ): Promise<readonly Suppression[]>;
  count(owner: AccountEnvironment, filter: SuppressionFilter): Promise<number>;
  remove(accountId: string, id: string): Promise<void>;
  /** Returns the accounts that keep a STOP of a recipient in production under `prefix` and the account's hash. */
  stoppedUnder(
    channel: SuppressedChannel,
    prefix: string,
    hashes: ReadonlyMap<string, string>,
  ): Promise<readonly string[]>;
  /** Lets one transaction at a time follow replies of this recipient, until it ends. */
  lockReplies(owner: AccountEnvironment, channel: SuppressedChannel, address: string): Promise<void>;
  /**
   * Takes back the suppression of one of these addresses that the recipient asked for with a reply (source `stop`): what held before holds again.
   * Returns its id. Undefined if there is none.
   */
  liftStop(
    owner: AccountEnvironment,
    channel: SuppressedChannel,
    addresses: readonly string[],
  ): Promise<string | undefined>;
}
