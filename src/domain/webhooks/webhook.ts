import type { Environment } from '../caller.ts';

/**
 * **Event → delivery → attempt.** An event is recorded once, in the transaction of the change that it reports. A
 * delivery sends one event to one endpoint. Its id is the same in every attempt. An attempt is one POST.
 *
 * Events go to endpoints of their own environment. Sandbox messages cause no events, so sandbox endpoints receive only
 * tests.
 */
export interface Webhook {
  readonly id: string;
  readonly accountId: string;
  readonly environment: Environment;
  readonly url: string;
  readonly events: readonly EventType[];
  readonly description: string | null;
  readonly isActive: boolean;
  readonly disabledReason: string | null;
  readonly maxRetries: number;
  /** Until when the secret before the last rotation signs too (R446). Null if it ended with the rotation. */
  readonly previousSecretEndsAt: Date | null;
  readonly createdAt: Date;
}

export const EVENT_TYPES = [
  'sms.sent',
  'sms.failed',
  'email.sent',
  'email.failed',
  'push.sent',
  'push.partial',
  'push.failed',
  'whatsapp.delivered',
  'whatsapp.read',
  'whatsapp.failed',
  'webhook.test',
  'account.balance_low',
  'account.limit_near',
  'webhook.failing',
  'sender.reviewed',
] as const;
export type EventType = (typeof EVENT_TYPES)[number];

export const DELIVERY_STATUSES = ['pending', 'retrying', 'success', 'failed', 'canceled'] as const;
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number];

export const DEFAULT_MAX_RETRIES = 3;
export const MAX_RETRIES_LIMIT = 5;
/** Largest number of endpoints of an account in one environment (R29). */
export const WEBHOOK_LIMIT = 10;
/** Longest time in seconds for which both secrets sign after a rotation (R446). */
export const SECRET_OVERLAP_MAX_SECONDS = 7 * 24 * 3600;
/**
 * `RETRY_DELAYS_SECONDS[n - 1]` is the delay before the nth retry, from the end of the attempt before it (R165).
 * `attemptRecord` decides whether there is one.
 */
export const RETRY_DELAYS_SECONDS = [5, 15, 35, 75, 155] as const;

export interface WebhookDelivery {
  readonly id: string;
  readonly accountId: string;
  /** The environment of the event and of the endpoint. */
  readonly environment: Environment;
  readonly webhookId: string;
  readonly eventSeq: number;
  readonly event: EventType;
  readonly messageId: string | null;
  readonly status: DeliveryStatus;
  readonly httpStatus: number | null;
  readonly attempts: number;
  readonly responseBody: string | null;
  readonly errorMessage: string | null;
  readonly nextRetryAt: Date | null;
  readonly createdAt: Date;
}

export interface DeliveryAttempt {
  readonly at: Date;
  readonly httpStatus: number | null;
  readonly durationMs: number;
  readonly errorMessage: string | null;
}
