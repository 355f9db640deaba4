import type { DeliveryReport } from './provider.ts';

/** Channels on which people write to the gateway. */
export type InboundChannel = 'sms' | 'whatsapp';

/** A message to a number of the gateway. `sid` is the provider's id of the message. */
export interface InboundMessage {
  readonly channel: InboundChannel;
  readonly provider: string;
  readonly sid: string;
  /** Phone number of the sender in E.164. */
  readonly sender: string;
  /** The provider's type of the message, such as `text` or `image`. */
  readonly type: string;
  readonly content: string | null;
  readonly sentAt: Date;
}

/** A stored inbound message. `accountId` is null if it belongs to no account (R205, R380). */
export interface OwnedInboundMessage extends InboundMessage {
  readonly id: string;
  readonly accountId: string | null;
  readonly receivedAt: Date;
}

/** Records that the platform accepted a message of an account to a phone number. */
export interface WhatsAppWrite {
  /** Phone number of the recipient in E.164. */
  readonly number: string;
  readonly accountId: string;
  readonly messageId: string;
  readonly at: Date;
}

export type StoredInbound = Pick<OwnedInboundMessage, 'id' | 'accountId' | 'sentAt'>;

export interface InboundStore {
  /**
   * Stores messages. Skips messages that are stored already. Returns the stored owner and time of each, by its sid. All
   * messages must be of one provider.
   */
  add(messages: readonly OwnedInboundMessage[]): Promise<ReadonlyMap<string, StoredInbound>>;
  /**
   * Returns the account of the last SMS to `number` that a carrier accepted. SMS from the sender `from` come first.
   * Undefined if there is none.
   */
  smsOwner(number: string, from: string): Promise<string | undefined>;
  /**
   * Returns the send time of the newest WhatsApp message from `sender` that belongs to the account and came through this
   * provider, which is to one number.
   */
  lastFrom(accountId: string, provider: string, sender: string): Promise<Date | undefined>;
  /**
   * Returns the texts of the newest 50 messages from `sender` to the account that came after this one: they were sent
   * later, or at the same time and have a greater id.
   */
  textsAfter(
    accountId: string,
    channel: InboundChannel,
    sender: string,
    than: Pick<StoredInbound, 'id' | 'sentAt'>,
  ): Promise<readonly (string | null)[]>;
  /** Stores which account wrote last to a person from the shared WhatsApp number. */
  noteWrites(writes: readonly WhatsAppWrite[]): Promise<void>;
  /** Returns the account that wrote last to each of the numbers. Numbers that no account wrote to are left out. */
  lastWriters(numbers: readonly string[]): Promise<ReadonlyMap<string, string>>;
}

/** The content of one callback. */
export interface WhatsAppCallback {
  /** One for each number that the callback is about. */
  readonly parts: readonly WhatsAppCallbackPart[];
  /** The provider of the number that all accounts without a number share. */
  readonly sharedProvider: string;
  /** True if the gateway has no number of its own. Then each number that no account has counts as the shared one. */
  readonly sharesAnyNumber: boolean;
}

/**
 * What the platform says of the id of a number.
 * - `known`: the gateway's app may use it. `number` is in E.164; undefined from the simulator, which knows all numbers.
 * - `unknown`: there is no such number, or the gateway's app has no access to it.
 * - `unclear`: the platform did not answer, or not to this question. `reason` says which.
 */
export type NumberAnswer =
  | { readonly kind: 'known'; readonly number: string | undefined }
  | { readonly kind: 'unknown'; readonly reason: string }
  | { readonly kind: 'unclear'; readonly reason: string };

/** Asks the platform about the id of a number. Takes seconds if the platform is slow. Never rejects. */
export type AskAboutNumber = (phoneNumberId: string) => Promise<NumberAnswer>;

/** What one callback says about one number. */
export interface WhatsAppCallbackPart {
  /** The platform's id of the number. Undefined for the gateway's own number, and if the platform names none. */
  readonly phoneNumberId: string | undefined;
  /** The provider that the reports are about. */
  readonly provider: string;
  readonly reports: readonly DeliveryReport[];
  readonly inbound: readonly Omit<InboundMessage, 'channel' | 'provider'>[];
}

/** Parses the platform's requests to `/callbacks/whatsapp` (R25). */
export interface WhatsAppCallbacks {
  /** Returns the answer to the platform's check when a subscription is set up. Undefined for a wrong token. */
  challengeAnswer(query: Readonly<Record<string, unknown>>): string | undefined;
  /** Returns the content of a signed body. Undefined for a wrong signature. */
  read(body: Buffer, signature: string | undefined): WhatsAppCallback | undefined;
}
