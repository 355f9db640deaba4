/** What is to be given back for a recipient that failed although an earlier hand-over may have left. */
export interface DeferredRefund {
  readonly messageId: string;
  readonly position: number;
  readonly accountId: string;
  /** Whole minor units, more than 0. */
  readonly amountMinor: number;
}

/** A hand-over that was accepted, as its provider told after the recipient had failed. */
export interface LateAcceptance extends Pick<DeferredRefund, 'messageId' | 'position'> {
  readonly at: Date;
  readonly provider: string | null;
  readonly sid: string | null;
}

/** Refunds that wait until no delivery report can come any more. */
export interface RefundStore {
  /** Keeps refunds for `delayMs`, by PostgreSQL's clock. */
  defer(refunds: readonly DeferredRefund[], delayMs: number): Promise<void>;
  /** Takes out refunds that are due, `limit` at the most; those that another transaction has at hand are passed over. */
  takeDue(limit: number): Promise<readonly DeferredRefund[]>;
  /** Takes out the refunds of recipients that a provider had accepted, and records that; returns those there were. */
  cancel(
    accepted: readonly LateAcceptance[],
  ): Promise<readonly Pick<DeferredRefund, 'messageId' | 'position'>[]>;
  /** Of the messages those with a refund that is not settled yet. */
  withDeferred(messageIds: readonly string[]): Promise<ReadonlySet<string>>;
}
