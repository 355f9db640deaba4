/**
 * The port of every carrier (SMS) and provider (email, push, WhatsApp). A new one is a file in `channels/<channel>/`
 * that implements `Provider`.
 *
 * **Submission**: a message to one recipient. **Outcome**: the result of submitting it. It is a value and never an
 * exception. **sid**: the provider's id of the submission. **Delivery report**: a later report about a sid. It may
 * arrive before the outcome.
 */
import type { SmsEncoding } from '../messages/sms-text.ts';

/**
 * The members of a submission on every channel. `messageId` and `position` identify the recipient and stay the same in
 * retries.
 */
export interface Submission {
  readonly messageId: string;
  readonly position: number;
  readonly to: string;
  readonly from: string;
  /** Number of earlier submissions to this recipient. */
  readonly attempt: number;
  /** The message must not be sent after this time (R14). */
  readonly expiresAt: Date;
  /**
   * Returns those of `addresses` that may still get the message (R557). Call it when a wait is over, just before the
   * message leaves. If `to` is not among them, end as `unavailable` and `definitelyNotSent`. Most calls run no
   * statement. Returns undefined if nobody can know now: try again later. Never rejects. If it is absent, all may get
   * the message.
   */
  readonly stillAllowed?: (addresses: readonly string[]) => Promise<readonly string[] | undefined>;
}

export interface SmsSubmission extends Submission {
  readonly text: string;
  readonly encoding: SmsEncoding;
  /** Number of parts in which the carrier sends the text (160/153 septets, 70/67 code units). */
  readonly segments: number;
}

/** An attachment. `content` is its bytes in base64. */
export interface EmailAttachment {
  readonly filename: string;
  readonly contentType: string;
  readonly content: string;
}

/** The part of an email that can have a size of megabytes. */
export interface EmailBody {
  readonly text: string | null;
  readonly html: string | null;
  readonly attachments: readonly EmailAttachment[];
}

/** One mail to `to`, and copies to `cc` and `bcc`. `from` and `replyTo` may contain names (`mailboxText`). */
export interface EmailSubmission extends Submission {
  readonly subject: string;
  /** Loads the body. Call it just before sending, so that waiting mails take no memory. May reject. */
  body(): Promise<EmailBody>;
  readonly replyTo: string | undefined;
  readonly cc: readonly string[];
  readonly bcc: readonly string[];
  readonly headers: Readonly<Record<string, string>>;
  /** The domain that the mail is signed for. Undefined: DKIM_DOMAIN. */
  readonly dkimDomain?: string | undefined;
  /**
   * Returns the same mail as a copy to each of `addresses`, with the opt-out link of that person. The copies load the
   * body once together. Undefined: all copies are the mail itself, and leave in its transaction.
   */
  readonly copiesTo?: ((addresses: readonly string[]) => ReadonlyMap<string, EmailSubmission>) | undefined;
  /**
   * The envelope senders, to which mails come back (R497): of the mail to `to`, and of the one to all copies. Undefined:
   * the address of `from`.
   */
  readonly returnPaths?: { readonly to: string; readonly copies: string } | undefined;
}

/**
 * The device that a push message goes to. On the web, `token` is the URL of the push endpoint, and there are `keys`.
 */
export interface PushTarget {
  /** The account that the device belongs to. */
  readonly accountId: string;
  readonly token: string;
  readonly keys: { readonly p256dh: string; readonly auth: string } | null;
  /** When the app last registered this token. */
  readonly registeredAt: Date;
}

export interface PushSubmission extends Submission {
  readonly target: PushTarget;
  readonly title: string;
  readonly body: string;
  readonly data: Readonly<Record<string, string>>;
  readonly imageUrl?: string | undefined;
  readonly clickUrl?: string | undefined;
  readonly collapseKey?: string | undefined;
  /**
   * How long the platform may store the message for an offline device: until this time. Undefined: the platform
   * decides.
   */
  readonly keepUntil?: Date | undefined;
  readonly priority: 'high' | 'normal';
}

/** Rejection code for a device token that is no longer valid. The device is then deleted (R24). */
export const UNREGISTERED = 'unregistered';

export type WhatsAppContent =
  | { readonly type: 'text'; readonly body: string; readonly previewUrl: boolean }
  | {
      readonly type: 'template';
      readonly name: string;
      readonly language: string;
      readonly components: readonly unknown[];
    }
  | {
      readonly type: 'media';
      readonly kind: 'image' | 'video' | 'audio' | 'document';
      readonly url: string;
      readonly caption: string | null;
    };

export interface WhatsAppSubmission extends Submission {
  readonly content: WhatsAppContent;
}

export type SubmitOutcome =
  /**
   * The provider accepted the submission. If the text has several parts, `partSids` has the sids of all of them, in
   * order.
   */
  | { readonly kind: 'accepted'; readonly sid: string; readonly partSids?: readonly string[] }
  /**
   * The provider refused the submission permanently. `code` is the provider's own code.
   *
   * `addressUnknown`: the recipient's address does not exist (R382).
   */
  | {
      readonly kind: 'rejected';
      readonly code: string;
      readonly reason: string;
      readonly addressUnknown?: true;
    }
  /**
   * The provider was overloaded, unreachable or did not answer. Retry, but not before `retryAfterMs` if it is given.
   *
   * `definitelyNotSent`: the provider has certainly received nothing, so the recipient can still be canceled.
   *
   * `onlyThis`: the provider works, and postpones only this submission, for example because it delays mail for an
   * unknown sender (greylisting).
   */
  | {
      readonly kind: 'unavailable';
      readonly reason: string;
      readonly retryAfterMs?: number;
      readonly definitelyNotSent?: true;
      readonly onlyThis?: true;
    };

/**
 * The outcome as a provider returns it. `asked` says whether the provider did something for it: it answered, kept
 * silent or could not be reached. False if the gateway decided alone, for example because the message expired first or
 * cannot be written for this provider. Such an outcome says nothing about the provider, so it must not move the circuit
 * breaker (R588).
 */
export type ProviderOutcome =
  | Extract<SubmitOutcome, { kind: 'accepted' }>
  | (Exclude<SubmitOutcome, { kind: 'accepted' }> & { readonly asked: boolean });

export interface DeliveryReport {
  readonly sid: string;
  /**
   * The recipient as the provider names it (digits or E.164). If present, the report must match the recipient by this
   * number, too (R220).
   */
  readonly to?: string;
  /** `read` implies that the message was delivered. */
  readonly status: 'delivered' | 'read' | 'failed';
  /** The provider's code and text for a failure. */
  readonly code?: string;
  readonly reason?: string;
}

/**
 * Records reports. While the database is unreachable, stores them on this host's disk. Rejects if neither is possible.
 * A provider tells the remote system only after this promise has resolved that it has the report.
 */
export type ReportSink = (provider: string, reports: readonly DeliveryReport[]) => Promise<void>;

/** Records the reports whose sids are known. Returns the number of reports whose sids are unknown. */
export type KnownReportSink = (provider: string, reports: readonly DeliveryReport[]) => Promise<number>;

/** A text from a subscriber to a number of the gateway. */
export interface InboundText {
  /** The carrier's id of the text, the same in repeats. Undefined if the carrier gives none (SMPP). */
  readonly sid?: string | undefined;
  /** The sender as the carrier names it, in E.164 if the carrier says that it is international. */
  readonly sender: string;
  /** The number or short code that it was sent to. */
  readonly to: string;
  readonly text: string;
}

/** Handles an inbound text. Resolves when it has taken effect. Rejects if the carrier should send it again. */
export type InboundSink = (provider: string, message: InboundText) => Promise<void>;

export interface ProviderHealth {
  readonly name: string;
  readonly state: 'up' | 'down' | 'starting';
  readonly detail?: string;
  /** Number of submissions that have no answer yet. */
  readonly inFlight: number;
}

/** The credit that is left in the operator's account with a provider. */
export interface ProviderBalance {
  /** Amount in the major unit of the currency, such as 12.5 for 12.50 USD. */
  readonly amount: number;
  /** Code of the currency, such as UGX. */
  readonly currency: string;
}

/** A provider's answer to a request that sends no message. */
export interface ProviderProbe {
  /** The provider's text for the operator, without secrets. */
  readonly detail: string;
  readonly balance?: ProviderBalance;
}

export interface Provider<S extends Submission> {
  /**
   * Names the remote system and the account there, without credentials. The name stays the same after a restart. The
   * sid of a delivery report is looked up among the submissions to this name. Providers with the same remote system and
   * account share the name. Health and metrics distinguish them by a number (`#2`).
   */
  readonly name: string;
  /**
   * Returns at once and connects in the background, with growing pauses between attempts. Carriers that receive SMS
   * over their own connection give them to `onInbound`.
   */
  start(onReports: ReportSink, onInbound: InboundSink): void;
  /**
   * Submits to the provider. Never rejects. It may wait for a connection or a slot in the window until `signal` aborts.
   * A submission that was not sent by then ends as `unavailable`.
   */
  submit(submission: S, signal: AbortSignal): Promise<ProviderOutcome>;
  /** Takes no new submissions, waits a bounded time for answers to those already sent, and closes the connections. */
  stop(): Promise<void>;
  health(): ProviderHealth;
  /**
   * Asks the provider whether it accepts the credentials. Sends no message. Rejects with the reason if the provider
   * refuses them. Undefined if the provider has no such request: then `health` is all that is known.
   */
  probe?(): Promise<ProviderProbe>;
  /** True if the answer to the probe contains the balance of the gateway's account at the provider. */
  readonly tellsBalance?: boolean;
}
