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

export interface InboundStore {
  /** Keeps messages; one that is known already is left out. */
  add(
    messages: readonly (InboundMessage & { readonly id: string; readonly receivedAt: Date })[],
  ): Promise<void>;
  /** When the sender's newest message was sent. */
  lastFrom(channel: 'whatsapp', sender: string): Promise<Date | undefined>;
}
