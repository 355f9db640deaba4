import type { Channel } from '../messages/message.ts';
import type { Hold, HoldReason, Place } from '../recovery/hold.ts';
import type { RecipientKey } from './message-stores.ts';

/** The recorded state of the copy, and its present place. */
export interface CopyState {
  readonly known: Place;
  readonly found: Place;
  readonly hold: Hold | undefined;
}

/** A pending recipient with the send time of its message. */
export interface PendingRecipient extends RecipientKey {
  readonly channel: Channel;
  readonly dueAt: Date;
}

/** The state of this copy of the data, and its recipients of unknown outcome. */
export interface CopyStore {
  read(): Promise<CopyState>;
  /** Reads the state and locks it until the transaction ends. */
  lock(): Promise<CopyState>;
  hold(reason: HoldReason, place: Place): Promise<void>;
  /** Ends the hold and records the place of the copy. */
  settle(place: Place): Promise<void>;
  /** Records a sign of life of a process that works on this copy. */
  renew(): Promise<void>;
  /** The next `limit` pending recipients after `after`, and the last of them; `next` is undefined at the end. */
  pendingAfter(
    after: RecipientKey,
    limit: number,
  ): Promise<{ readonly pending: readonly PendingRecipient[]; readonly next: RecipientKey | undefined }>;
}
