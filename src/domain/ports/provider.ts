/**
 * The one port behind which every carrier (SMS) and provider (email, push, WhatsApp) stands.
 * A new one is one file in `channels/<channel>/` that implements `Provider`.
 *
 * Terms. **Submission**: what is handed over for one recipient. **Outcome**: the answer to it, a value
 * and never an exception. **sid**: the id under which the provider knows it. **Delivery report**: what
 * the provider says later about a sid; it may come before the outcome does.
 */
import type { SmsEncoding } from '../messages/sms-text.ts';

/** What every channel hands over. `messageId` and `position` name the recipient and are stable across retries. */
export interface Submission {
  readonly messageId: string;
  readonly position: number;
  readonly to: string;
  readonly from: string;
  /** Hand-overs of this recipient that came before this one. */
  readonly attempt: number;
  /** After this instant the message must not leave any more (R14). */
  readonly expiresAt: Date;
}

export interface SmsSubmission extends Submission {
  readonly text: string;
  readonly encoding: SmsEncoding;
  /** How many parts the text takes on the wire (160/153, 70/67). */
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

/** One mail to `to` alone, but for the copies that go with it. `from` and `replyTo` may have names (`mailboxText`). */
export interface EmailSubmission extends Submission {
  readonly subject: string;
  /** Fetches the body: not before the mail is about to leave, so that mails that wait take no memory. May reject. */
  body(): Promise<EmailBody>;
  readonly replyTo: string | undefined;
  readonly cc: readonly string[];
  readonly bcc: readonly string[];
  readonly headers: Readonly<Record<string, string>>;
}

/** Where one device is reached. `token` is an endpoint's address on the web, which has keys as well. */
export interface PushTarget {
  /** The account that the device belongs to. */
  readonly accountId: string;
  readonly token: string;
  readonly keys: { readonly p256dh: string; readonly auth: string } | null;
  /** When the app last gave this token. */
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
  /** Until when the platform may keep it for a device that is away; as long as it likes when absent. */
  readonly keepUntil?: Date | undefined;
  readonly priority: 'high' | 'normal';
}

/** The code of a rejection that says that the device's token is dead: the device is then forgotten (R24). */
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
  /** The provider took it. `partSids` holds every part's sid, in order, when there is more than one. */
  | { readonly kind: 'accepted'; readonly sid: string; readonly partSids?: readonly string[] }
  /** The provider refused it for good. `code` is the provider's own, `reason` says it in words. */
  | { readonly kind: 'rejected'; readonly code: string; readonly reason: string }
  /**
   * Not now: throttled, unreachable, no answer. Worth trying again, not before `retryAfterMs` when given.
   * `definitelyNotSent` when it is certain that the provider has nothing of it, so that it can still be canceled.
   * `onlyThis` when the provider works and puts off this one alone (a greylisted mailbox): no sign that it is dead.
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
  /** The recipient as the provider names it (digits or E.164), when it does: makes matching by sid safer. */
  readonly to?: string;
  /** `read` implies delivered. */
  readonly status: 'delivered' | 'read' | 'failed';
  /** The provider's own code and words for a failure. */
  readonly code?: string;
  readonly reason?: string;
}

/**
 * Records reports, or keeps them on this host's disk while the database is away; rejects where neither is possible. A
 * provider acknowledges a report to its peer only after this resolves.
 */
export type ReportSink = (provider: string, reports: readonly DeliveryReport[]) => Promise<void>;

/** Takes the reports whose messages are known, and tells how many were not taken. */
export type KnownReportSink = (provider: string, reports: readonly DeliveryReport[]) => Promise<number>;

export interface ProviderHealth {
  readonly name: string;
  readonly state: 'up' | 'down' | 'starting';
  readonly detail?: string;
  /** Submissions on the wire without an answer yet. */
  readonly inFlight: number;
}

export interface Provider<S extends Submission> {
  /**
   * The peer and the account there, stable across restarts, without credentials: delivery reports are matched within it.
   * Providers that share both share the name; health and metrics tell them apart (`#2`).
   */
  readonly name: string;
  /** Opens what it needs and returns at once; connecting goes on in the background with growing pauses. */
  start(onReports: ReportSink): void;
  /**
   * Hands one submission over. Never rejects. While `signal` is not aborted it may wait for a connection
   * or a free place in the window; once aborted, what is not on the wire yet ends as `unavailable`.
   */
  submit(submission: S, signal: AbortSignal): Promise<SubmitOutcome>;
  /** Takes no new submissions, lets those on the wire finish (bounded), closes. */
  stop(): Promise<void>;
  health(): ProviderHealth;
}
