export type HeldDecision = 'released' | 'rejected' | 'expired' | 'canceled';

/** A message that waits for a review (R393). */
export interface HeldMessage {
  readonly messageId: string;
  readonly costMinor: number;
  /** Cost and route of each recipient, by position. */
  readonly costs: readonly number[];
  readonly routes: readonly string[];
}

/** The held messages of an account to one block of numbers. */
export interface HeldBlock {
  readonly accountId: string;
  readonly block: string;
  readonly messages: number;
  readonly recipients: number;
  readonly costMinor: number;
  readonly heldSince: Date;
}

interface NumberCounts {
  /**
   * The blocks above their bounds, each with the new numbers of it and its fuller neighbour within the hour. Blocks that
   * a person has released lately are not among them, nor are their neighbours.
   */
  readonly above: ReadonlyMap<string, number>;
  /** Numbers that are not new. They were not counted. */
  readonly known: ReadonlySet<string>;
  /** Those of `local` that the database has, from another process. */
  readonly stored: ReadonlySet<string>;
  /** What takes the added numbers back. Undefined if the database had all of them. */
  readonly added: AddedNumbers | undefined;
}

/** Numbers that the database did not have before. */
export interface AddedNumbers {
  readonly accountId: string;
  readonly addresses: readonly string[];
  /** The time in the database at which they were added, as text, because it has microseconds. */
  readonly at: string;
}

/** Stores messages that are held for review, and counts numbers in a row (R392 to R396). */
export interface HeldStore {
  /**
   * Adds the numbers `added` to the counts, and compares those of blocks with their bounds. `local` are counted too, but
   * not stored: only the caller's memory has them. A number is new if no SMS of the account to it, accepted from `since`
   * to `until`, reached a carrier. Only one transaction of an account counts at a time, so that the counts are exact.
   */
  countNumbers(input: {
    readonly accountId: string;
    readonly bounds: ReadonlyMap<string, number>;
    readonly added: readonly string[];
    readonly local: readonly string[];
    readonly since: Date;
    readonly until: Date;
  }): Promise<NumberCounts>;
  /** Takes added numbers back, unless they were counted again meanwhile. */
  takeBack(added: AddedNumbers): Promise<void>;
  /**
   * Returns the largest number of SMS that left on one day since `since`, for each prefix of numbers that had some.
   */
  busiestDays(
    accountId: string,
    prefixes: readonly string[],
    since: Date,
  ): Promise<ReadonlyMap<string, number>>;
  /** Does not hold numbers of the block again before `until`. */
  trust(accountId: string, block: string, until: Date): Promise<void>;
  /** Deletes counts of numbers that were seen before `before`, and trust that has ended. Returns how many. */
  forgetNumbers(before: Date): Promise<number>;

  /** Returns the blocks with held messages, the oldest first. */
  blocks(accountIds: readonly string[]): Promise<readonly HeldBlock[]>;
  /** Returns the ids of up to `limit` messages that are held because of the block, the oldest first. */
  open(accountId: string, block: string, limit: number): Promise<readonly string[]>;
  heldBefore(before: Date, limit: number): Promise<readonly string[]>;
  /** Returns those of the messages that are not decided. */
  find(messageIds: readonly string[]): Promise<readonly HeldMessage[]>;
  decide(messageIds: readonly string[], decision: HeldDecision, at: Date): Promise<void>;
  /**
   * Charges held messages of one account, which the caller has locked, and counts their costs. Their deadline is
   * `expiresAt`. Throws `insufficient_balance`, and changes nothing then. Call it once in a transaction: the database
   * refuses a second charge.
   */
  charge(
    accountId: string,
    held: readonly HeldMessage[],
    expiresAt: readonly Date[],
    at: Date,
  ): Promise<void>;
  /** Forgets up to `limit` messages that were decided before `before`, and returns them. */
  takeDecided(
    before: Date,
    limit: number,
  ): Promise<readonly { readonly messageId: string; readonly isReleased: boolean }[]>;
}
