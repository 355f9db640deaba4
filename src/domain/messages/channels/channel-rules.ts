import type { Device } from '../../devices/device.ts';
import type { MovedRecipient, RecipientMove } from '../../ports/message-stores.ts';
import type { Submission } from '../../ports/provider.ts';
import type { Tx } from '../../ports/stores.ts';
import type { NewEvent } from '../../webhooks/event.ts';
import type { Message, OutgoingMessage, OutgoingRecipient, Recipient } from '../message.ts';

export interface ResourceMembers {
  readonly metadata: Record<string, number | string>;
  readonly [member: string]: unknown;
}

/** Look-ups for what the outgoing message does not carry. */
export interface Directory {
  device(id: string): Promise<Device | undefined>;
  /** The large content of a message, if it has some. */
  bulk(messageId: string): Promise<Readonly<Record<string, unknown>> | undefined>;
}

/** What differs between the channels. */
export interface ChannelRules {
  /** The members of the message resource that only this channel has. */
  resource(message: Message): ResourceMembers;
  /** The recipients that the resource shows, where they are not the addresses. */
  shownTo?(message: Message): readonly string[];
  /** The submission to the provider for one recipient; undefined when the device at its address was removed. */
  submission(
    message: OutgoingMessage,
    recipient: OutgoingRecipient,
    attempt: number,
    directory: Directory,
  ): Submission | Promise<Submission | undefined>;
  /** The event of one recipient's move, on channels with events per recipient (R16). `at` is when it is recorded. */
  moveEvent?(message: Message, move: RecipientMove, moved: MovedRecipient, at: Date): NewEvent | undefined;
  /** The event of the whole message, once no recipient is pending (R24). */
  settledEvent?(message: Message, recipients: readonly Recipient[], at: Date): NewEvent | undefined;
  /** The event of a read message, on channels that report it (R25). */
  readEvent?(message: Message, recipient: MovedRecipient, at: Date): NewEvent | undefined;
  /** Further changes that follow from moves, in the same transaction. */
  afterMoves?(
    tx: Tx,
    messages: ReadonlyMap<string, Message>,
    moved: ReadonlyMap<RecipientMove, MovedRecipient>,
  ): Promise<void>;
  /** The channel has no delivery reports, so `sent` is final (R14). */
  readonly hasNoReports?: true;
}
