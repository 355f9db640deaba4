import type { DeliveryReport } from './provider.ts';

/** A message that somebody sent to the gateway's own number. `sid` is the provider's id of it. */
export interface InboundMessage {
  readonly channel: 'whatsapp';
  readonly provider: string;
  readonly sid: string;
  /** E.164. */
  readonly sender: string;
  /** The provider's word for what it is, e.g. `text` or `image`. */
  readonly type: string;
  readonly content: string | null;
  readonly sentAt: Date;
}

/** An inbound message as it is kept: with the account that it belongs to, or null. */
export interface OwnedInboundMessage extends InboundMessage {
  readonly id: string;
  readonly accountId: string | null;
  readonly receivedAt: Date;
}

/** A message of an account that the platform took for a number. */
export interface WhatsAppWrite {
  /** E.164. */
  readonly number: string;
  readonly accountId: string;
  readonly messageId: string;
  readonly at: Date;
}

export interface InboundStore {
  /** Keeps messages; one that is known already is left out. */
  add(messages: readonly OwnedInboundMessage[]): Promise<void>;
  /** When the newest message was sent that the sender sent and the account owns. */
  lastFrom(accountId: string, channel: 'whatsapp', sender: string): Promise<Date | undefined>;
  /** Records who wrote to WhatsApp numbers; of each number the newest write is kept. */
  noteWrites(writes: readonly WhatsAppWrite[]): Promise<void>;
  /** The account that wrote last, by WhatsApp number; numbers that nobody wrote to are left out. */
  lastWriters(numbers: readonly string[]): Promise<ReadonlyMap<string, string>>;
}

/** What one callback of the platform told. */
export interface WhatsAppCallback {
  /** The name of the provider that the reports are about. */
  readonly provider: string;
  readonly reports: readonly DeliveryReport[];
  readonly inbound: readonly Omit<InboundMessage, 'channel' | 'provider'>[];
}

/** Reads the platform's calls to `/callbacks/whatsapp` (R25). */
export interface WhatsAppCallbacks {
  /** The text that answers the handshake of a subscription; undefined to a wrong token. */
  challengeAnswer(query: Readonly<Record<string, unknown>>): string | undefined;
  /** What a signed body tells; undefined when the signature is not right. */
  read(body: Buffer, signature: string | undefined): WhatsAppCallback | undefined;
}
