/**
 * **Request**: one call of the REST API with a valid key, as the request log stores it (R415). The log is written about
 * a second after the answer. If an account sends many requests, the log stores only a part of them (R417).
 */
import type { Environment } from '../caller.ts';

export const STATUS_CLASSES = ['success', 'client_error', 'server_error'] as const;
export type StatusClass = (typeof STATUS_CLASSES)[number];

/** Days for which requests are kept (R415). */
export const REQUESTS_DAYS = 7;
/**
 * `setRequestLogging` switches the logging of whole bodies on for this many hours. A whole body is shown for the same
 * time (R416).
 */
export const FULL_BODIES_HOURS = 24;

/** A request of the log. */
export interface ApiRequest {
  readonly id: string;
  readonly accountId: string;
  /** When it was answered. */
  readonly at: Date;
  readonly environment: Environment;
  readonly keyId: string;
  readonly method: string;
  /** The path without its query. Parts that may contain a number or a text are masked. */
  readonly path: string;
  readonly status: number;
  readonly errorCode: string | null;
  readonly durationMs: number;
  readonly address: string;
  readonly requestId: string;
  readonly idempotencyKey: string | null;
  /** The message that the request sent. */
  readonly messageId: string | null;
  /** Length of the body in bytes. */
  readonly requestBytes: number;
  /** The bodies as JSON, masked or whole. Null if the body is absent, not JSON or too large (R416). */
  readonly requestBody: string | null;
  readonly responseBody: string | null;
  readonly isFull: boolean;
  /** Number of requests before this one that were not stored, of the same account and with the same outcome (R417). */
  readonly skippedBefore: number;
}

/**
 * A request that is not stored yet. `fullRequestBody` and `fullResponseBody` are null unless the account logs whole
 * bodies.
 */
export interface NewApiRequest extends Omit<ApiRequest, 'isFull'> {
  readonly fullRequestBody: string | null;
  readonly fullResponseBody: string | null;
}

/** The time in which an account logs whole bodies. */
export interface FullBodies {
  readonly from: Date;
  readonly until: Date;
}

/** Conditions on requests. A request must fulfil all the given conditions. */
export interface RequestFilter {
  readonly statusClass?: StatusClass | undefined;
  readonly errorCode?: string | undefined;
  readonly keyId?: string | undefined;
  readonly method?: string | undefined;
  readonly pathPrefix?: string | undefined;
  readonly requestId?: string | undefined;
  readonly idempotencyKey?: string | undefined;
  readonly environment?: Environment | undefined;
  /** Bounds of the time of the answer. `since` is included, `until` is not. */
  readonly since?: Date | undefined;
  readonly until?: Date | undefined;
}
