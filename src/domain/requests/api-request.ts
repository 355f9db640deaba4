/**
 * **Request**: one call of the REST API with a valid key, as the request log keeps it (R415). The log is written about
 * a second after the answer, and keeps a bounded part of the requests (R417).
 */
import type { Environment } from '../caller.ts';

export const STATUS_CLASSES = ['success', 'client_error', 'server_error'] as const;
export type StatusClass = (typeof STATUS_CLASSES)[number];

/** Days for which requests are kept (R415). */
export const REQUESTS_DAYS = 7;
/** Hours for which whole bodies are logged after `setRequestLogging`, and then shown (R416). */
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
  /** The bodies as JSON, masked or whole. Null if there is none, or it is not JSON, or it is too large (R416). */
  readonly requestBody: string | null;
  readonly responseBody: string | null;
  readonly isFull: boolean;
  /** Number of requests with the same outcome before this one that were not kept (R417). */
  readonly skippedBefore: number;
}

/** A request to be stored. `fullRequestBody` and `fullResponseBody` are null unless the account logs whole bodies. */
export interface NewApiRequest extends Omit<ApiRequest, 'isFull'> {
  readonly fullRequestBody: string | null;
  readonly fullResponseBody: string | null;
}

/** The time in which an account logs whole bodies. */
export interface FullBodies {
  readonly from: Date;
  readonly until: Date;
}

/** Conditions on requests. All that are given must hold. */
export interface RequestFilter {
  readonly statusClass?: StatusClass | undefined;
  readonly errorCode?: string | undefined;
  readonly keyId?: string | undefined;
  readonly method?: string | undefined;
  readonly pathPrefix?: string | undefined;
  readonly requestId?: string | undefined;
  readonly idempotencyKey?: string | undefined;
  readonly environment?: Environment | undefined;
  /** Bounds of the time, `since` included, `until` not. */
  readonly since?: Date | undefined;
  readonly until?: Date | undefined;
}
