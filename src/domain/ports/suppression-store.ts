import type { AccountEnvironment, Visibility } from '../caller.ts';
import type { KeyRange, Page, PageRequest } from '../paging.ts';
import type { SuppressedAddress, SuppressedChannel, Suppression } from '../suppressions/suppression.ts';

export interface SuppressionFilter {
  readonly channel?: SuppressedChannel | undefined;
  /** The address in the form in which it is stored. */
  readonly address?: string | undefined;
}

/** Stores suppressions (R377). */
export interface SuppressionStore {
  /** True if the account has a suppression. */
  any(accountId: string): Promise<boolean>;
  /** Returns those of the addresses that are suppressed. */
  among(
    owner: AccountEnvironment,
    channel: SuppressedChannel,
    addresses: readonly string[],
  ): Promise<readonly SuppressedAddress[]>;
  /**
   * Stores a suppression, or changes scope, reason and source of the one with its address. Returns the stored one; it
   * has another id if there was one before.
   */
  set(suppression: Suppression): Promise<Suppression>;
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
  /** Deletes the suppression that an address asked for itself. Returns its id; undefined if there is none. */
  liftStop(
    owner: AccountEnvironment,
    channel: SuppressedChannel,
    address: string,
  ): Promise<string | undefined>;
}
