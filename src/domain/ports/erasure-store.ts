import type { Environment, Visibility } from '../caller.ts';
import type { Channel } from '../messages/message.ts';
import type { KeyRange, Page, PageRequest } from '../paging.ts';
import type { Erasure, ErasureMark, ErasureWork } from '../recipients/erasure.ts';
import type { TargetAddress } from '../recipients/personal-address.ts';
import type { ErasableEvent } from './sweep-stores.ts';

/** The rows in which a person is looked for. */
export interface PersonScope {
  readonly accountId: string;
  /** Null: both environments. */
  readonly environment: Environment | null;
  readonly targets: readonly TargetAddress[];
  /** Later messages are left out. */
  readonly until: Date;
}

/** A message that has the person among its recipients or copies. */
export interface PersonalMessage {
  readonly id: string;
  readonly channel: Channel;
  readonly content: string;
  readonly payload: Readonly<Record<string, unknown>> | null;
  readonly isPending: boolean;
  /** True if the analytics contain the message, so that they no longer read its recipients. */
  readonly isCounted: boolean;
  readonly recipients: readonly { readonly position: number; readonly address: string }[];
}

/** What is left of a message. Undefined positions stay. */
export interface MessageErasure {
  readonly id: string;
  readonly payload: Readonly<Record<string, unknown>> | null;
  /** True if the text is erased, too. */
  readonly isWhole: boolean;
  /** The recipients that lose their address. */
  readonly positions: readonly number[];
}

export interface StoredAnswer {
  readonly environment: string;
  readonly route: string;
  readonly key: string;
  readonly body: string;
}

/**
 * Stores erasures, and reads and erases the rows of one person. Each call of the worker changes few rows, and skips
 * locked ones, so that sends, reports and deliveries do not wait for it.
 */
export interface ErasureStore {
  insert(work: ErasureWork): Promise<void>;
  find(visibility: Visibility, id: string): Promise<Erasure | undefined>;
  /** Returns the erasure of this address that is not done. */
  findOpen(
    accountId: string,
    environment: Environment | null,
    addressHash: string,
  ): Promise<Erasure | undefined>;
  /** Returns a page of erasures, newest first. */
  page(visibility: Visibility, request: PageRequest): Promise<Page<Erasure>>;
  slice(visibility: Visibility, range: KeyRange): Promise<readonly Erasure[]>;
  count(visibility: Visibility): Promise<number>;
  /**
   * Returns up to `limit` erasures that are to be advanced: the first of each account, then the second of each (R566). Of
   * equal places, the one that waits longest comes first. Those of an account that moves to another cell wait.
   */
  due(now: Date, limit: number): Promise<readonly Pick<Erasure, 'id' | 'accountId'>[]>;
  /** Locks an erasure until the transaction ends. Undefined if it is done, or another process has it locked. */
  claim(id: string): Promise<ErasureWork | undefined>;
  /** Stores step, mark and counts of an erasure that was advanced at `at`. */
  save(work: Pick<ErasureWork, 'id' | 'step' | 'mark' | 'erased'>, at: Date): Promise<void>;
  postpone(id: string, until: Date): Promise<void>;
  /** Ends an erasure and deletes the addresses in it. */
  finish(id: string, at: Date, auditSequence: number): Promise<void>;

  /** Returns the number of pending messages to the person that an index finds, and the ids of up to `limit` of them. */
  pending(
    scope: PersonScope,
    limit: number,
  ): Promise<{ readonly count: number; readonly ids: readonly string[] }>;
  /** Returns ids of messages after `afterId`, in order, that an index finds by the addresses. */
  messagesAfter(scope: PersonScope, afterId: string, limit: number): Promise<readonly string[]>;
  /**
   * Reads up to `limit` emails after the number `afterSeq`, and returns those to or in copy to the person. `next` is
   * the mark of the next call. Undefined if no emails are left.
   */
  emailsAfter(
    scope: PersonScope,
    afterSeq: number,
    limit: number,
  ): Promise<{ readonly ids: readonly string[]; readonly next: number | undefined }>;
  /** Adds messages to the list of an erasure. */
  listMessages(id: string, messageIds: readonly string[]): Promise<void>;
  /** Locks and returns listed messages after `afterId`. Skips locked ones. */
  listed(id: string, afterId: string, limit: number): Promise<readonly PersonalMessage[]>;
  /** Takes messages off the list. */
  unlist(id: string, messageIds: readonly string[]): Promise<void>;
  /** Returns the number of listed messages that still exist, and takes the others off the list. */
  countListed(id: string): Promise<number>;
  /** Erases in messages and what belongs to them. Returns the number of deleted unmatched reports. */
  eraseMessages(erasures: readonly MessageErasure[]): Promise<number>;
  /** Stores the bodies of events anew, and deletes the endpoints' answers to them. */
  eraseEvents(events: readonly ErasableEvent[]): Promise<void>;

  /**
   * Reads up to `limit` stored answers after `mark`. `answers` are those about listed messages. `next` is undefined if
   * none are left.
   */
  answersAfter(
    id: string,
    accountId: string,
    mark: ErasureMark | null,
    limit: number,
  ): Promise<{ readonly answers: readonly StoredAnswer[]; readonly next: ErasureMark | undefined }>;
  replaceAnswers(accountId: string, answers: readonly StoredAnswer[]): Promise<void>;
  /** Deletes the marks that a reply of this number was confirmed. */
  forgetReplies(accountId: string, phones: readonly string[]): Promise<void>;

  /** Deletes up to `limit` messages of these senders, and notes of which account wrote to them. */
  removeInbound(accountId: string, phones: readonly string[], limit: number): Promise<number>;
  removeDevices(scope: PersonScope, limit: number): Promise<number>;
  /** Replaces the addresses of suppressions by their hashes, and deletes their reasons. */
  hashSuppressions(scope: PersonScope, hashes: ReadonlyMap<string, string>): Promise<number>;
  /** Deletes counts of messages to these numbers whose hour has passed. `left` counts those of this hour. */
  forgetNumbers(
    accountId: string,
    phones: readonly string[],
    hour: Date,
  ): Promise<{ readonly forgotten: number; readonly left: number }>;
  /** Erases the cells of rows of imports that name the person. */
  eraseImportFaults(scope: PersonScope): Promise<number>;
  /** Deletes up to `limit` whole bodies of logged requests: one cannot find a person in them with certainty. */
  eraseRequestBodies(scope: PersonScope, limit: number): Promise<number>;
  /** Returns the number of unfinished imports that were started before `until`. */
  countUnfinishedImports(scope: PersonScope): Promise<number>;

  /** Returns messages of the account with those recipients and copies, without locking them. */
  readMessages(accountId: string, ids: readonly string[]): Promise<readonly PersonalMessage[]>;

  /** Returns the sealed key of an account's address hashes: its own, or that of the database. */
  hashKey(accountId: string): Promise<string | undefined>;
  /** Returns the accounts that have erased somebody in production, with the sealed keys of their hashes. */
  erasing(): Promise<readonly { readonly accountId: string; readonly sealed: string }[]>;
  /** Returns the accounts among these that erased a phone number with their hash in production. */
  whoErased(hashes: ReadonlyMap<string, string>): Promise<readonly string[]>;
  /** Returns all sealed keys, each once. */
  hashKeys(): Promise<readonly string[]>;
  /** Stores the first sealed key of the database. Does nothing if there is one. */
  addHashKey(sealed: string): Promise<void>;
  /** Replaces a sealed key wherever it is stored. */
  replaceHashKey(before: string, sealed: string): Promise<void>;
}
