/**
 * The port of every carrier (SMS) and provider (email, push, WhatsApp). A new one is a file in `channels/<channel>/`
 * that implements `Provider`.
 *
 * **Submission**: a message to one recipient. **Outcome**: the result of submitting it, a value and never an
 * exception. **sid**: the provider's id of it. **Delivery report**: a later report about a sid; it may arrive before
 * the outcome.
 */
import type { SmsEncoding } from '../messages/sms-text.ts';

/** Members of all channels. `messageId` and `position` identify the recipient and stay the same in retries. */
export interface Submission {
  readonly messageId: string;
  readonly position: number;
  readonly to: string;
  readonly from: string;
  /** Earlier submissions of this recipient. */
  readonly attempt: number;
  /** Must not be sent after this time (R14). */
  readonly expiresAt: Date;
}

export interface SmsSubmission extends Submission {
  readonly text: string;
  readonly encoding: SmsEncoding;
  /** Parts of the text on the wire (160/153, 70/67). */
  readonly segments: number;
}

/** `content` is base64. */
export interface EmailAttachment {
  readonly filename: string;
  readonly contentType: string;
  readonly content: string;
}

/** The part of an email that may have megabytes. */
export interface EmailBody {
  readonly text: string | null;
  readonly html: string | null;
  readonly attachments: readonly EmailAttachment[];
}

/** One mail to `to`, and to the copies that go with it. `from` and `replyTo` may have names (`mailboxText`). */
export interface EmailSubmission extends Submission {
  readonly subject: string;
  /** Loads the body. Call it just before sending, so that waiting mails take no memory. May reject. */
  body(): Promise<EmailBody>;
  readonly replyTo: string | undefined;
  readonly cc: readonly string[];
  readonly bcc: readonly string[];
  readonly headers: Readonly<Record<string, string>>;
}

/** A device. On the web, `token` is the endpoint's URL and there are keys. */
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
  /** Until when the platform may store it for an offline device; the platform decides when absent. */
  readonly keepUntil?: Date | undefined;
  readonly priority: 'high' | 'normal';
}

/** Rejection code for a dead device token. The device is then deleted (R24). */
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
  /** The provider accepted it. `partSids` has the sids of all parts, in order, when there are several. */
  | { readonly kind: 'accepted'; readonly sid: string; readonly partSids?: readonly string[] }
  /** The provider refused it for good. `code` is the provider's own. */
  | { readonly kind: 'rejected'; readonly code: string; readonly reason: string }
  /**
   * Throttled, unreachable or without an answer: retry, not before `retryAfterMs` if given.
   *
   * `definitelyNotSent`: the provider certainly has nothing of it, so it can still be canceled.
   *
   * `onlyThis`: the provider works and postpones this submission only, such as for a greylisted mailbox.
   */
  | {
      readonly kind: 'unavailable';
      readonly reason: string;
      readonly retryAfterMs?: number;
      readonly definitelyNotSent?: true;
      readonly onlyThis?: true;
    };

export interface DeliveryReport {
  readonly sid: string;
  /**
   * The recipient as the provider names it (digits or E.164), if it does. Matching then also checks the number
   * (R220).
   */
  readonly to?: string;
  /** `read` implies delivered. */
  readonly status: 'delivered' | 'read' | 'failed';
  /** The provider's code and text of a failure. */
  readonly code?: string;
  readonly reason?: string;
}

/**
 * Records reports, or stores them on this host's disk while the database is away; rejects when neither is possible.
 * A provider acknowledges a report to its peer only after this resolves.
 */
export type ReportSink = (provider: string, reports: readonly DeliveryReport[]) => Promise<void>;

/** Records the reports whose sids are known. Returns how many are unknown. */
export type KnownReportSink = (provider: string, reports: readonly DeliveryReport[]) => Promise<number>;

export interface ProviderHealth {
  readonly name: string;
  readonly state: 'up' | 'down' | 'starting';
  readonly detail?: string;
  /** Submissions without an answer yet. */
  readonly inFlight: number;
}

export interface Provider<S extends Submission> {
  /**
   * The peer and the account there, without credentials and stable across restarts. Delivery reports are matched
   * within it. Providers with the same peer and account share the name; health and metrics distinguish them (`#2`).
   */
  readonly name: string;
  /** Returns at once and connects in the background, with growing pauses. */
  start(onReports: ReportSink): void;
  /**
   * Submits to the provider. Never rejects. May wait for a connection or a slot in the window until `signal` aborts;
   * a submission that is not on the wire by then ends as `unavailable`.
   */
  submit(submission: S, signal: AbortSignal): Promise<SubmitOutcome>;
  /** Takes no new submissions, waits a bounded time for those on the wire, and closes. */
  stop(): Promise<void>;
  health(): ProviderHealth;
}
