import type { Device } from '../../devices/device.ts';
import type { MovedRecipient, RecipientMove } from '../../ports/message-stores.ts';
import type { OptOutTokens } from '../../ports/opt-out-tokens.ts';
import type { Submission } from '../../ports/provider.ts';
import type { ReturnPaths } from '../../ports/return-paths.ts';
import type { Tx } from '../../ports/stores.ts';
import type { Ids } from '../../ports/system.ts';
import type { NewEvent } from '../../webhooks/event.ts';
import type { Message, OutgoingMessage, OutgoingRecipient, Recipient } from '../message.ts';

export interface ResourceMembers {
  readonly metadata: Record<string, number | string>;
  readonly [member: string]: unknown;
}

/** Provides data that a submission needs and that the outgoing message does not contain. */
export interface Directory {
  device(id: string): Promise<Device | undefined>;
  /** Returns the large content of a message. Undefined if it has none. */
  bulk(messageId: string): Promise<Readonly<Record<string, unknown>> | undefined>;
  readonly optOutTokens: OptOutTokens;
  /** Undefined if mails do not come back to the gateway. */
  readonly returnPaths: ReturnPaths | undefined;
}

/** The rules that differ between the channels. */
export interface ChannelRules {
  /** Returns the members of the message resource that only this channel has. */
  resource(message: Message): ResourceMembers;
  /** Returns the recipients that the message resource shows. Undefined on channels that show the stored addresses. */
  shownTo?(message: Message): readonly string[];
  /** Builds the submission to the provider for one recipient. Undefined if the device of the recipient was removed. */
  submission(
    message: OutgoingMessage,
    recipient: OutgoingRecipient,
    attempt: number,
    directory: Directory,
  ): Submission | Promise<Submission | undefined>;
  /**
   * Builds the event of one recipient's change of status, on channels with an event per recipient (R16). `at` is the
   * time at which the event is recorded.
   */
  moveEvent?(message: Message, move: RecipientMove, moved: MovedRecipient, at: Date): NewEvent | undefined;
  /**
   * Builds the event of the whole message. Called when no recipient is pending any more (R24). Only on channels with
   * one event per message.
   */
  settledEvent?(message: Message, recipients: readonly Recipient[], at: Date): NewEvent | undefined;
  /** Builds the event of a read message, on channels that report reading (R25). */
  readEvent?(message: Message, recipient: MovedRecipient, at: Date): NewEvent | undefined;
  /** Makes other changes that a change of status requires, in the same transaction. */
  afterMoves?(
    tx: Tx,
    messages: ReadonlyMap<string, Message>,
    moved: ReadonlyMap<RecipientMove, MovedRecipient>,
    system: { readonly ids: Ids; readonly now: Date },
  ): Promise<void>;
  /** Set if the channel has no delivery reports, so that `sent` is final (R14). */
  readonly hasNoReports?: true;
}
