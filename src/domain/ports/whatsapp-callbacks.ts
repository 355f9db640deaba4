import type { InboundMessage } from './inbound-store.ts';
import type { DeliveryReport } from './provider.ts';

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
