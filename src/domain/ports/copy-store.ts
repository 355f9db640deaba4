import type { Channel } from '../messages/message.ts';
import type { Hold, HoldReason, Place } from '../recovery/hold.ts';
import type { RecipientKey } from './message-stores.ts';

/** What is recorded of the copy, and where it is now. */
export interface CopyState {
  readonly known: Place;
  readonly found: Place;
  readonly hold: Hold | undefined;
}

/** A recipient that is pending, and when its message was to leave. */
export interface PendingRecipient extends RecipientKey {
  readonly channel: Channel;
  readonly dueAt: Date;
}

/** One row that says which copy of the data this is, and the recipients that nobody knows about when it is restored. */
export interface CopyStore {
  read(): Promise<CopyState>;
  /** Reads, and keeps others from changing it until the transaction ends. */
  lock(): Promise<CopyState>;
  hold(reason: HoldReason, place: Place): Promise<void>;
  /** Ends the hold, and records where the copy is. */
  settle(place: Place): Promise<void>;
  /** A sign of life of a process that works on this copy. */
  renew(): Promise<void>;
  /** The next `limit` pending recipients after `after`, and the last of them; `next` is undefined at the end. */
  pendingAfter(
    after: RecipientKey,
    limit: number,
  ): Promise<{ readonly pending: readonly PendingRecipient[]; readonly next: RecipientKey | undefined }>;
}
