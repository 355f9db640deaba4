import type { DomainError, ErrorCode } from '../domain/errors.ts';

/** How a refusal is answered: its status, and the body's shape (contract, Errors; decisions 2 and 3). */
export const ERROR_RESPONSES: Readonly<Record<ErrorCode, { status: number; shape: 'A' | 'B' }>> = {
  unauthorized: { status: 401, shape: 'A' },
  forbidden: { status: 403, shape: 'A' },
  rate_limit_exceeded: { status: 429, shape: 'A' },
  validation_error: { status: 400, shape: 'B' },
  invalid_json: { status: 400, shape: 'B' },
  invalid_phone_number: { status: 400, shape: 'B' },
  invalid_sender_id: { status: 400, shape: 'B' },
  message_too_long: { status: 400, shape: 'B' },
  invalid_scheduled_time: { status: 400, shape: 'B' },
  invalid_scope: { status: 400, shape: 'B' },
  invalid_event_type: { status: 400, shape: 'B' },
  invalid_webhook_url: { status: 400, shape: 'B' },
  idempotency_key_mismatch: { status: 400, shape: 'B' },
  no_target_devices: { status: 400, shape: 'B' },
  session_window_closed: { status: 400, shape: 'B' },
  unknown_template: { status: 400, shape: 'B' },
  unpriced_destination: { status: 400, shape: 'B' },
  insufficient_balance: { status: 402, shape: 'B' },
  not_found: { status: 404, shape: 'B' },
  contact_exists: { status: 409, shape: 'B' },
  message_not_cancelable: { status: 409, shape: 'B' },
  webhook_limit: { status: 409, shape: 'B' },
  payload_too_large: { status: 413, shape: 'B' },
  unsupported_media_type: { status: 415, shape: 'B' },
  internal_error: { status: 500, shape: 'B' },
  provider_error: { status: 502, shape: 'B' },
  service_unavailable: { status: 503, shape: 'B' },
};

export interface ErrorResponse {
  readonly status: number;
  readonly body: object;
  readonly headers: Readonly<Record<string, string>>;
}

/** The answer that a refusal gets. */
export function errorResponse(error: DomainError): ErrorResponse {
  const { status, shape } = ERROR_RESPONSES[error.code];
  const retryAfter = error.retryAfterSeconds;
  const headers: Record<string, string> = retryAfter === undefined ? {} : { 'Retry-After': String(retryAfter) };
  if (shape === 'A') {
    const base = { statusCode: status, error: error.code, message: error.message };
    return { status, headers, body: retryAfter === undefined ? base : { ...base, retryAfter } };
  }
  const details = error.details === undefined ? {} : { details: error.details };
  return { status, headers, body: { error: { code: error.code, message: error.message, ...details } } };
}
