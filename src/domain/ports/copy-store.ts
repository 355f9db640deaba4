import type { Channel } from '../messages/message.ts';
import type { Hold, HoldReason, Place } from '../recovery/hold.ts';
import type { RecipientKey } from './message-stores.ts';

/**
 * The recorded state of this copy of the data, and where the copy is now. If `known` and `found` differ, the data was
 * restored or copied.
 */
export interface CopyState {
  readonly known: Place;
  readonly found: Place;
  /** True if no worker has used the data for UNUSED_MINUTES. */
  readonly isUnused: boolean;
  readonly hold: Hold | undefined;
}

/** A pending recipient with the send time of its message. */
export interface PendingRecipient extends RecipientKey {
  readonly channel: Channel;
  readonly dueAt: Date;
}

/**
 * Stores the state of this copy of the data, and finds the pending recipients, which the original may have submitted.
 */
export interface CopyStore {
  read(): Promise<CopyState>;
  /** Reads the state and locks it until the transaction ends. */
  lock(): Promise<CopyState>;
  hold(reason: HoldReason, place: Place): Promise<void>;
  /** Ends the hold and records the place where the copy is now. */
  settle(place: Place): Promise<void>;
  /** Records that a process still works on this copy, and on which timeline. */
  renew(): Promise<void>;
  /**
   * Returns the next `limit` pending recipients after the key `after`, in the order of their keys. `next` is the key of
   * the last returned recipient. It is undefined if no more recipients can follow.
   */
  pendingAfter(
    after: RecipientKey,
    limit: number,
  ): Promise<{ readonly pending: readonly PendingRecipient[]; readonly next: RecipientKey | undefined }>;
}
