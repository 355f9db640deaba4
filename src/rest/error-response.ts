import type { DomainError, ErrorCode } from '../domain/errors.ts';

interface ErrorAnswer {
  readonly status: number;
  readonly shape: 'A' | 'B';
  /** Says when the error occurs. The API reference shows it. */
  readonly when: string;
}

/** HTTP status and body shape of each error code (R2, R3, R168–R177). */
export const ERROR_RESPONSES: Readonly<Record<ErrorCode, ErrorAnswer>> = {
  unauthorized: {
    status: 401,
    shape: 'A',
    when: 'The key is missing, unknown, revoked or expired, or a key that must sign its requests sent no valid signature.',
  },
  forbidden: {
    status: 403,
    shape: 'A',
    when: "The key lacks the scope, the request comes from an address outside the key's allowlist, or it would give another key more rights than the key has.",
  },
  rate_limit_exceeded: {
    status: 429,
    shape: 'A',
    when: 'More requests than the key may make in 60 seconds. `Retry-After` says when to retry.',
  },
  validation_error: {
    status: 400,
    shape: 'B',
    when: 'A field is missing or invalid; `details.fields` names each with its path.',
  },
  invalid_json: {
    status: 400,
    shape: 'B',
    when: 'The body is not JSON, not valid UTF-8, or nested too deeply.',
  },
  invalid_phone_number: {
    status: 400,
    shape: 'B',
    when: 'No recipient is a valid phone number; `details` has `field` and `value`.',
  },
  invalid_sender_id: {
    status: 400,
    shape: 'B',
    when: 'The sender ID is not 1 to 11 letters or digits.',
  },
  message_too_long: {
    status: 400,
    shape: 'B',
    when: 'The message has more than 1000 characters.',
  },
  invalid_scheduled_time: {
    status: 400,
    shape: 'B',
    when: '`scheduledFor` is not an ISO 8601 time with an offset, is in the past, or is more than 30 days ahead.',
  },
  invalid_scope: {
    status: 400,
    shape: 'B',
    when: 'A scope does not exist.',
  },
  invalid_event_type: {
    status: 400,
    shape: 'B',
    when: 'An event type does not exist.',
  },
  invalid_webhook_url: {
    status: 400,
    shape: 'B',
    when: 'The webhook URL is malformed, not allowed, or does not resolve to a public address. Unknown names and private addresses get the same answer.',
  },
  idempotency_key_mismatch: {
    status: 400,
    shape: 'B',
    when: 'The Idempotency-Key header and `idempotencyKey` in the body differ.',
  },
  no_target_devices: {
    status: 400,
    shape: 'B',
    when: 'No device is registered for the recipients of the push message.',
  },
  session_window_closed: {
    status: 400,
    shape: 'B',
    when: 'The recipient sent this account no WhatsApp message in the last 24 hours, so only a template can be sent.',
  },
  unknown_template: {
    status: 400,
    shape: 'B',
    when: 'The WhatsApp template does not exist.',
  },
  unpriced_destination: {
    status: 400,
    shape: 'B',
    when: 'There is no price for the destination.',
  },
  destination_not_allowed: {
    status: 400,
    shape: 'B',
    when: 'A limit of the key or the account, or of this gateway, excludes a recipient; `details` has `value` and `limit`.',
  },
  sender_not_approved: {
    status: 400,
    shape: 'B',
    when: 'The account may not send under this name; `details` has `value`, `status` and `approved`.',
  },
  all_recipients_suppressed: {
    status: 400,
    shape: 'B',
    when: 'Every recipient is suppressed for this purpose; `details.suppressedSkipped` counts them.',
  },
  insufficient_balance: {
    status: 402,
    shape: 'B',
    when: 'The balance is below the charge; `details` has `balance`, `required` and `currency`.',
  },
  spend_limit_reached: {
    status: 402,
    shape: 'B',
    when: 'The message would exceed a send limit of the key or the account; `details` has `limit`, `of`, `maximum`, `used`, `required` and `resetsAt`.',
  },
  not_found: {
    status: 404,
    shape: 'B',
    when: 'It does not exist, or it belongs to another account.',
  },
  contact_exists: {
    status: 409,
    shape: 'B',
    when: 'Another contact has this phone or externalId; `details.id` is its id.',
  },
  message_not_cancelable: {
    status: 409,
    shape: 'B',
    when: 'The message has left already, or has ended.',
  },
  recipient_has_pending_messages: {
    status: 409,
    shape: 'B',
    when: 'Messages to the person have not left yet; `details.pending` is their number, and `details.messageIds` names the first 100.',
  },
  webhook_limit: {
    status: 409,
    shape: 'B',
    when: 'The account has the maximum number of webhook endpoints.',
  },
  key_ended: {
    status: 409,
    shape: 'B',
    when: 'The API key was revoked, has expired or was rotated. It cannot be changed or restored.',
  },
  delivery_already_queued: {
    status: 409,
    shape: 'B',
    when: 'The attempt of a webhook delivery is still to come or under way; GraphQL only.',
  },
  second_factor_required: {
    status: 401,
    shape: 'A',
    when: 'A person signs in without their second factor; GraphQL only.',
  },
  step_up_required: {
    status: 403,
    shape: 'A',
    when: 'A person has not shown a password or a code for 10 minutes; GraphQL only.',
  },
  payload_too_large: {
    status: 413,
    shape: 'B',
    when: 'The body is larger than the route accepts.',
  },
  unsupported_media_type: {
    status: 415,
    shape: 'B',
    when: 'The body is not `application/json`, or is compressed.',
  },
  internal_error: {
    status: 500,
    shape: 'B',
    when: 'Something went wrong in the gateway; quote the `X-Request-Id`.',
  },
  provider_error: {
    status: 502,
    shape: 'B',
    when: 'The provider of the channel failed or sent an invalid answer.',
  },
  service_unavailable: {
    status: 503,
    shape: 'B',
    when: "The gateway or the channel's provider cannot accept the request now. `Retry-After` says when to retry.",
  },
  outcome_unknown: {
    status: 503,
    shape: 'B',
    when: 'The database did not confirm whether the change was made. Look it up: `details.messageId` of a send is the id that the message has if it was accepted. A send may be repeated with the same `Idempotency-Key`. There is no `Retry-After`: repeating it in another way could make the change twice.',
  },
  account_moving: {
    status: 503,
    shape: 'B',
    when: 'The account is being moved to another server of the operator. Nothing was done; `Retry-After` says when to retry.',
  },
  account_moved: {
    status: 421,
    shape: 'B',
    when: 'The account has moved to another server of the operator, and the request reached the old one. Nothing was done.',
  },
};

export interface ErrorResponse {
  readonly status: number;
  readonly body: object;
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * Makes the HTTP response for an error. The Link header names the help page of the code. It is not in the body, because
 * the forms of the bodies are fixed (R322).
 */
export function errorResponse(error: DomainError): ErrorResponse {
  const { status, shape } = ERROR_RESPONSES[error.code];
  const retryAfter = error.retryAfterSeconds;
  const headers: Record<string, string> = {
    Link: `</docs/errors/${error.code}>; rel="help"`,
    ...(retryAfter === undefined ? {} : { 'Retry-After': String(retryAfter) }),
  };
  if (shape === 'A') {
    const base = { statusCode: status, error: error.code, message: error.message };
    return { status, headers, body: retryAfter === undefined ? base : { ...base, retryAfter } };
  }
  const details = error.details === undefined ? {} : { details: error.details };
  return { status, headers, body: { error: { code: error.code, message: error.message, ...details } } };
}
