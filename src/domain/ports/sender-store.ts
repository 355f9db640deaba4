import type { Environment, Visibility } from '../caller.ts';
import type { KeyRange, Page, PageRequest } from '../paging.ts';
import type { FoundRecords, Registration, Sender, SenderChannel, SenderStatus } from '../senders/sender.ts';

export interface SenderFilter {
  readonly environment: Environment;
  /** Undefined: the senders of all accounts. */
  readonly accountId?: string | undefined;
  readonly channel?: SenderChannel | undefined;
  readonly status?: SenderStatus | undefined;
}

/** A change of a sender. A member that is absent is not changed. */
export interface SenderPatch {
  readonly status?: SenderStatus;
  readonly note?: string | null;
  readonly reviewedAt?: Date;
  readonly registrations?: readonly Registration[];
  readonly verifiedAt?: Date | null;
  readonly checkedAt?: Date;
  readonly found?: FoundRecords;
}

export interface ApprovedName {
  readonly accountId: string;
  readonly channel: SenderChannel;
  readonly look: string;
}

/** A WhatsApp number that belongs to an account (R550). */
export interface WhatsAppNumber {
  readonly accountId: string;
  /** The platform's id of the number. */
  readonly phoneNumberId: string;
  /** The number in E.164. */
  readonly number: string;
}

/** Stores senders (R430). */
export interface SenderStore {
  /**
   * Waits until no other transaction holds the lock of all senders, and holds it until the transaction ends. Call it
   * before any change.
   */
  lockAll(): Promise<void>;
  /** Returns all senders of an account, in both environments. */
  ofAccount(accountId: string): Promise<readonly Sender[]>;
  /** True if another account has an approved sender in production that looks like this one. */
  isTaken(accountId: string, channel: SenderChannel, look: string): Promise<boolean>;
  /** Returns the approved senders of production of all accounts. `look` is the compared form of the name. */
  approved(): Promise<readonly ApprovedName[]>;
  /** Returns the WhatsApp numbers of all accounts. */
  whatsAppNumbers(): Promise<readonly WhatsAppNumber[]>;
  /** Returns these WhatsApp numbers, by the platform's id. Numbers that no account has are left out. */
  findNumbers(phoneNumberIds: readonly string[]): Promise<ReadonlyMap<string, WhatsAppNumber>>;
  /** Returns the WhatsApp number with this platform id or in this E.164 form that another account has. */
  numberOfAnother(
    accountId: string,
    phoneNumberId: string,
    number: string,
  ): Promise<WhatsAppNumber | undefined>;
  insert(sender: Sender): Promise<void>;
  find(visibility: Visibility, id: string): Promise<Sender | undefined>;
  /** Returns a sender of any account. */
  findOfAny(id: string): Promise<Sender | undefined>;
  page(filter: SenderFilter, request: PageRequest): Promise<Page<Sender>>;
  slice(filter: SenderFilter, range: KeyRange): Promise<readonly Sender[]>;
  count(filter: SenderFilter): Promise<number>;
  change(id: string, patch: SenderPatch): Promise<void>;
  /**
   * Returns up to `most` approved domains of production that are due: whose check is due at `now`, or that never had one
   * and were verified before `unchecked`. Their next check is at `again`, so that no other process takes them.
   */
  takeDueDomains(now: Date, unchecked: Date, again: Date, most: number): Promise<readonly Sender[]>;
  /** The record is there: the next check is at `checkAt`. */
  keepDomain(id: string, checkAt: Date | null): Promise<void>;
  /** The record is missing. Returns since when. */
  missDomain(id: string, at: Date): Promise<Date>;
  remove(id: string): Promise<void>;
}
