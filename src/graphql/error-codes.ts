import { ERROR_CODES, ERROR_DOCS_PATH, type ErrorCode } from '../domain/errors.ts';

/** Codes whose name in GraphQL differs from REST (R223). Every other code is the REST code in capitals. */
const RENAMED: Partial<Record<ErrorCode, string>> = {
  unauthorized: 'UNAUTHENTICATED',
  rate_limit_exceeded: 'RATE_LIMITED',
  validation_error: 'BAD_USER_INPUT',
  internal_error: 'INTERNAL_SERVER_ERROR',
};

/** Returns the GraphQL name of a domain error code. */
export function codeOf(code: ErrorCode): string {
  return RENAMED[code] ?? code.toUpperCase();
}

/** Returns the path of the help page about a code, below the URL of the gateway. */
export function docUrlOf(code: string): string {
  return `${ERROR_DOCS_PATH}/${code.toLowerCase()}`;
}

/** Codes that exist in GraphQL only: refusals before an operation runs, and codes of live updates. */
const OWN_CODES = [
  'bad_request',
  'graphql_parse_failed',
  'graphql_validation_failed',
  'operation_resolution_failure',
  'persisted_query_not_found',
  'persisted_query_not_supported',
  'refetch',
] as const;
type GraphqlErrorCode = ErrorCode | (typeof OWN_CODES)[number];

/** All values that `extensions.code` can have. */
export const GRAPHQL_ERROR_CODES: readonly GraphqlErrorCode[] = [...ERROR_CODES, ...OWN_CODES];

/** Like `codeOf`, but also accepts the codes that exist in GraphQL only. */
export const graphqlCodeOf = (code: GraphqlErrorCode) => codeOf(code as ErrorCode);

/** What each code means, for the caller. */
export const ERROR_CODE_DESCRIPTIONS: Readonly<Record<GraphqlErrorCode, string>> = {
  unauthorized: 'Nobody is signed in, or the session has ended.',
  forbidden: 'The role, the access token or a limit of the caller does not allow it.',
  rate_limit_exceeded: 'Too many requests. `retryAfter` holds the seconds to wait.',
  validation_error: 'Values break a rule. `details.fields` names each with its path from the argument.',
  invalid_json: 'The body is not JSON.',
  invalid_phone_number: 'No valid phone number is left.',
  invalid_sender_id: 'The sender ID is not 1 to 11 letters or digits.',
  message_too_long: 'The text is longer than the channel allows.',
  invalid_scheduled_time: 'The time to send at is in the past, or more than 30 days ahead.',
  invalid_scope: 'A scope is not known.',
  invalid_event_type: 'An event type is not known.',
  invalid_webhook_url: 'The address of the webhook may not be called.',
  idempotency_key_mismatch: 'Two different idempotency keys came with one request.',
  no_target_devices: 'No device is registered for the users or ids.',
  session_window_closed: 'The recipient wrote last more than 24 hours ago, so only templates may be sent.',
  unknown_template: 'WhatsApp does not know the template.',
  unpriced_destination: 'There is no price for the destination in the currency of the account.',
  destination_not_allowed:
    'A limit of the key, the account or the gateway excludes a recipient. `details` names both.',
  sender_not_approved: 'The account may not send under this name. `details.approved` lists its names.',
  spend_limit_reached:
    'A send limit of the key or the account is reached. `details` says which, and when it resets.',
  all_recipients_suppressed: 'Every recipient is suppressed for this purpose.',
  insufficient_balance: 'The balance does not cover the cost. `details` holds both.',
  not_found: 'It does not exist, or you may not see it.',
  contact_exists: 'Another contact has the phone or the externalId. `details.id` names it.',
  message_not_cancelable: 'A part of the message has left already.',
  recipient_has_pending_messages:
    'Messages to the person have not left yet. `details.pending` is their number, and `details.messageIds` names the first 100.',
  webhook_limit: 'The account has as many webhooks as it may have.',
  key_ended: 'The API key was revoked, rotated or has expired.',
  delivery_already_queued: 'The attempt of the delivery is still to come or under way.',
  second_factor_required: 'The password was right; a second factor is needed. `details.challenge` continues.',
  step_up_required: 'Confirm with `stepUp` who you are, then repeat.',
  payload_too_large: 'The body has too many bytes. `details.maximum` holds the limit.',
  unsupported_media_type: 'The body is not sent as JSON.',
  internal_error: 'Something went wrong in the gateway. `requestId` finds it in the log.',
  provider_error: 'A carrier or provider failed.',
  service_unavailable: 'It cannot be done now. `retryAfter` holds the seconds to wait.',
  outcome_unknown: 'It may have been done. Look it up before you repeat it.',
  account_moving: 'The account is being moved. `retryAfter` holds the seconds to wait.',
  account_moved: 'The account has moved to another server.',
  bad_request: 'The request is not as GraphQL over HTTP wants it.',
  graphql_parse_failed: 'The document is not GraphQL.',
  graphql_validation_failed: 'The document does not fit the schema, or exceeds a limit.',
  operation_resolution_failure: 'The document has no operation of that name.',
  persisted_query_not_found: 'No document with that hash is known.',
  persisted_query_not_supported: 'Documents are not stored here.',
  refetch: 'Live updates were lost. Query again, then subscribe again.',
};

/** Codes that every mutation can answer. */
const COMMON_CODES: readonly ErrorCode[] = [
  'account_moved',
  'account_moving',
  'validation_error',
  'forbidden',
  'internal_error',
  'outcome_unknown',
  'service_unavailable',
  'unauthorized',
];

/**
 * Returns the `codes` of `@errors` for a mutation, sorted. They are its own codes and the codes that every mutation
 * has.
 */
export function mutationCodes(own: readonly ErrorCode[]): readonly string[] {
  return [...new Set([...own, ...COMMON_CODES].map(codeOf))].sort();
}
