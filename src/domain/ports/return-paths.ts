/** The mail of one recipient of a message, or the one that carries all copies (cc, bcc) of the message. */
export interface SentMail {
  readonly messageId: string;
  readonly position: number;
  readonly isCopy: boolean;
}

/**
 * Makes the envelope senders of mails (variable envelope return path). A mail server that cannot deliver a mail returns
 * it to this address, which says which mail came back. Nobody can make such an address without the master key.
 */
export interface ReturnPaths {
  /** Returns the envelope sender of a mail. It is the same in each attempt. */
  addressOf(mail: SentMail): string;
  /** Returns the mail that an address names, in any case of letters. Undefined if it was not made here. */
  open(address: string): SentMail | undefined;
  /** Returns the mail that the first genuine address in a text names. Takes linear time. */
  find(text: string): SentMail | undefined;
}

/** What a mail that came back says. */
export type MailReport =
  | {
      readonly kind: 'bounce';
      /** The enhanced status code of the failure (RFC 3463), such as `5.1.1`. */
      readonly status: string;
      /** What the mail server said. Undefined if it said nothing. */
      readonly words: string | undefined;
      /** The address that failed. After a forward it is another one than the recipient's. */
      readonly address: string | undefined;
    }
  | { readonly kind: 'complaint' };

/**
 * `failed`: the recipient failed. `complained`: the recipient no longer gets marketing. `unchanged`: the report is a
 * repeated or late one, or concerns copies, a forward, or a message that is deleted or erased.
 */
export type ReturnedOutcome = 'failed' | 'complained' | 'unchanged';
