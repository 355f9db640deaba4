import type { SubmitOutcome } from './provider.ts';

/** A mail that the gateway itself sends to a person who signs in. */
export interface PersonMail {
  /** A UUID. The Message-ID header is made from it. */
  readonly id: string;
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  /** The mail must not be sent after this time. */
  readonly expiresAt: Date;
}

/** Sends the gateway's own mails to people who sign in. */
export interface Mailer {
  /** True if a mail server is configured. The simulator does not count, because it sends no mail. */
  readonly isConfigured: boolean;
  /** Sends one mail. Never rejects: a failure is in the outcome. */
  send(mail: PersonMail, signal: AbortSignal): Promise<SubmitOutcome>;
}
