import type { SubmitOutcome } from './provider.ts';

/** A mail of the gateway itself to a person who signs in. */
export interface PersonMail {
  /** A UUID, from which the Message-ID is made. */
  readonly id: string;
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  /** Must not be sent after this time. */
  readonly expiresAt: Date;
}

/** Sends mails to people who sign in. */
export interface Mailer {
  /** Whether a mail server is configured. The simulator mails nothing, so it does not count. */
  readonly isConfigured: boolean;
  /** Never rejects. */
  send(mail: PersonMail, signal: AbortSignal): Promise<SubmitOutcome>;
}
