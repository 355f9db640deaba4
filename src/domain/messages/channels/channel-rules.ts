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

/** Finds what recipients' addresses only name. */
export interface Directory {
  device(id: string): Promise<Device | undefined>;
  /** The large content of a message that has some. */
  bulk(messageId: string): Promise<Readonly<Record<string, unknown>> | undefined>;
}

/** What differs from channel to channel; everything else is written once for all of them. */
export interface ChannelRules {
  /** The resource's members beyond those that all channels share. */
  resource(message: Message): ResourceMembers;
  /** Whom the message shows as its recipients, where that is not their addresses. */
  shownTo?(message: Message): readonly string[];
  /** What is handed to the provider for one recipient; undefined when nobody is at its address any more. */
  submission(
    message: OutgoingMessage,
    recipient: OutgoingRecipient,
    attempt: number,
    directory: Directory,
  ): Submission | Promise<Submission | undefined>;
  /** The event that one recipient's move causes, where events are per recipient (R16); `at` it is recorded. */
  moveEvent?(message: Message, move: RecipientMove, moved: MovedRecipient, at: Date): NewEvent | undefined;
  /** The event of the message as a whole, once no recipient is pending any more (R24). */
  settledEvent?(message: Message, recipients: readonly Recipient[], at: Date): NewEvent | undefined;
  /** The event of a recipient having read the message, where the channel tells (R25). */
  readEvent?(message: Message, recipient: MovedRecipient, at: Date): NewEvent | undefined;
  /** What else moves that took place change, in the same transaction. */
  afterMoves?(
    tx: Tx,
    messages: ReadonlyMap<string, Message>,
    moved: ReadonlyMap<RecipientMove, MovedRecipient>,
  ): Promise<void>;
  /** No delivery reports exist on this channel, so `sent` is all that is ever known (R14). */
  readonly hasNoReports?: true;
}
