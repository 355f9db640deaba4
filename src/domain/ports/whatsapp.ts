import type { DeliveryReport } from './provider.ts';

/** A message to the gateway's own number. `sid` is the provider's id. */
export interface InboundMessage {
  readonly channel: 'whatsapp';
  readonly provider: string;
  readonly sid: string;
  /** E.164. */
  readonly sender: string;
  /** The provider's type, e.g. `text` or `image`. */
  readonly type: string;
  readonly content: string | null;
  readonly sentAt: Date;
}

/** A stored inbound message, with its account or null (R205). */
export interface OwnedInboundMessage extends InboundMessage {
  readonly id: string;
  readonly accountId: string | null;
  readonly receivedAt: Date;
}

/** A message of an account that the platform accepted for a number. */
export interface WhatsAppWrite {
  /** E.164. */
  readonly number: string;
  readonly accountId: string;
  readonly messageId: string;
  readonly at: Date;
}

export interface InboundStore {
  /** Stores messages. Skips known ones. */
  add(messages: readonly OwnedInboundMessage[]): Promise<void>;
  /** The send time of the newest message from the sender that belongs to the account. */
  lastFrom(accountId: string, channel: 'whatsapp', sender: string): Promise<Date | undefined>;
  /** Stores which account wrote to a WhatsApp number last. */
  noteWrites(writes: readonly WhatsAppWrite[]): Promise<void>;
  /** The account that wrote last, by WhatsApp number. Numbers without one are left out. */
  lastWriters(numbers: readonly string[]): Promise<ReadonlyMap<string, string>>;
}

/** The content of one callback. */
export interface WhatsAppCallback {
  /** The provider that the reports are about. */
  readonly provider: string;
  readonly reports: readonly DeliveryReport[];
  readonly inbound: readonly Omit<InboundMessage, 'channel' | 'provider'>[];
}

/** Parses the platform's calls to `/callbacks/whatsapp` (R25). */
export interface WhatsAppCallbacks {
  /** The answer to the handshake of a subscription; undefined for a wrong token. */
  challengeAnswer(query: Readonly<Record<string, unknown>>): string | undefined;
  /** The content of a signed body; undefined for a wrong signature. */
  read(body: Buffer, signature: string | undefined): WhatsAppCallback | undefined;
}
