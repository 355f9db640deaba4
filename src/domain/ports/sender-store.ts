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

/** The changes of a sender. An absent member stays as it is. */
export interface SenderPatch {
  readonly status?: SenderStatus;
  readonly note?: string | null;
  readonly reviewedAt?: Date;
  readonly registrations?: readonly Registration[];
  readonly verifiedAt?: Date;
  readonly checkedAt?: Date;
  readonly found?: FoundRecords;
}

/** Stores senders (R430). */
export interface SenderStore {
  /** Lets one transaction at a time change senders, until it ends. */
  lockAll(): Promise<void>;
  /** Returns all senders of an account, in both environments. */
  ofAccount(accountId: string): Promise<readonly Sender[]>;
  /** True if another account has an approved sender in production that looks like this one. */
  isTaken(accountId: string, channel: SenderChannel, look: string): Promise<boolean>;
  insert(sender: Sender): Promise<void>;
  find(visibility: Visibility, id: string): Promise<Sender | undefined>;
  /** Returns a sender of any account. */
  findOfAny(id: string): Promise<Sender | undefined>;
  page(filter: SenderFilter, request: PageRequest): Promise<Page<Sender>>;
  slice(filter: SenderFilter, range: KeyRange): Promise<readonly Sender[]>;
  count(filter: SenderFilter): Promise<number>;
  change(id: string, patch: SenderPatch): Promise<void>;
  remove(id: string): Promise<void>;
}
