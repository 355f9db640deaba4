/** Every way in which an operation can refuse (decision 3). The edges map codes to statuses; operations never do. */
export type ErrorCode =
  | 'unauthorized'
  | 'forbidden'
  | 'rate_limit_exceeded'
  | 'validation_error'
  | 'invalid_json'
  | 'invalid_phone_number'
  | 'invalid_sender_id'
  | 'message_too_long'
  | 'invalid_scheduled_time'
  | 'invalid_scope'
  | 'invalid_event_type'
  | 'invalid_webhook_url'
  | 'idempotency_key_mismatch'
  | 'no_target_devices'
  | 'session_window_closed'
  | 'unknown_template'
  | 'unpriced_destination'
  | 'insufficient_balance'
  | 'not_found'
  | 'contact_exists'
  | 'message_not_cancelable'
  | 'webhook_limit'
  | 'payload_too_large'
  | 'unsupported_media_type'
  | 'internal_error'
  | 'provider_error'
  | 'service_unavailable';

export interface FieldFault {
  /** Dotted path in the request, e.g. `events.0`. */
  readonly path: string;
  readonly message: string;
}

/** A refusal that the caller may read: what was wrong, where, and what would be right. */
export class DomainError extends Error {
  override readonly name = 'DomainError';
  readonly code: ErrorCode;
  readonly details: Readonly<Record<string, unknown>> | undefined;
  /** Seconds after which trying again makes sense, for 429 and 503. */
  readonly retryAfterSeconds: number | undefined;

  constructor(
    code: ErrorCode,
    message: string,
    details?: Readonly<Record<string, unknown>>,
    retryAfterSeconds?: number,
  ) {
    super(message);
    this.code = code;
    this.details = details;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

export const unauthorized = (message: string) => new DomainError('unauthorized', message);
export const forbidden = (message: string) => new DomainError('forbidden', message);
export const validationError = (fields: readonly FieldFault[]) =>
  new DomainError(
    'validation_error',
    fields.map((field) => (field.path ? `${field.path}: ${field.message}` : field.message)).join('; '),
    { fields },
  );
export const notFound = (what: string) => new DomainError('not_found', `${what} not found`);
export const insufficientBalance = (balance: number, required: number, currency: string) =>
  new DomainError(
    'insufficient_balance',
    `The balance of ${balance} ${currency} does not cover the ${required} ${currency} that this message costs.`,
    { balance, required, currency },
  );
export const serviceUnavailable = (message: string, retryAfterSeconds = 1) =>
  new DomainError('service_unavailable', message, undefined, retryAfterSeconds);
