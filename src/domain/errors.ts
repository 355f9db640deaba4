import { truncate } from './text.ts';

/** Codes of the errors that an operation can throw on purpose (R3). REST and GraphQL map them to statuses. */
export const ERROR_CODES = [
  'unauthorized',
  'forbidden',
  'rate_limit_exceeded',
  'validation_error',
  'invalid_json',
  'invalid_phone_number',
  'invalid_sender_id',
  'message_too_long',
  'invalid_scheduled_time',
  'invalid_scope',
  'invalid_event_type',
  'invalid_webhook_url',
  'idempotency_key_mismatch',
  'no_target_devices',
  'session_window_closed',
  'unknown_template',
  'unpriced_destination',
  'destination_not_allowed',
  'sender_not_approved',
  'all_recipients_suppressed',
  'insufficient_balance',
  'spend_limit_reached',
  'not_found',
  'contact_exists',
  'message_not_cancelable',
  'recipient_has_pending_messages',
  'webhook_limit',
  'key_ended',
  'delivery_already_queued',
  'second_factor_required',
  'step_up_required',
  'payload_too_large',
  'unsupported_media_type',
  'internal_error',
  'provider_error',
  'service_unavailable',
  'outcome_unknown',
  'account_moving',
  'account_moved',
] as const;
export type ErrorCode = (typeof ERROR_CODES)[number];

/** Path of the pages that explain error codes. Each code has a page, whose name is the GraphQL code in lower case. */
export const ERROR_DOCS_PATH = '/docs/errors';

/** Why the gateway answers 503. The operator sees the reason in the log, the metrics and the readiness check. */
export type UnavailableReason =
  | 'database_unreachable'
  | 'database_silent'
  | 'database_full'
  | 'database_disk'
  | 'database_read_only'
  | 'database_connections'
  | 'database_memory'
  | 'database_busy'
  | 'reports_not_kept'
  | 'overloaded'
  | 'provider_missing'
  | 'public_url_missing'
  | 'held'
  | 'account_moving';

export interface FieldFault {
  /** Path in the request with dots, such as `events.0`. */
  readonly path: string;
  readonly message: string;
}

/** Why one item of a list was not changed (R277). */
export interface ItemError {
  /** The item's place in the list, from 0. */
  readonly index: number;
  /** The item's path in the input, such as `keyIds.2`. */
  readonly path: string;
  readonly code: ErrorCode;
  readonly message: string;
}

/** An error with a message for the caller: what is wrong, where, and what would be right. */
export class DomainError extends Error {
  override readonly name = 'DomainError';
  readonly code: ErrorCode;
  readonly details: Readonly<Record<string, unknown>> | undefined;
  /** Number of seconds after which the caller may retry, for 429 and 503. */
  readonly retryAfterSeconds: number | undefined;
  /** The reason of a `service_unavailable`. Like `cause`, it is for the operator and is never sent to the caller. */
  readonly kind: UnavailableReason | undefined;
  readonly #faults: readonly FieldFault[] | undefined;

  constructor(
    code: ErrorCode,
    message: string,
    details?: Readonly<Record<string, unknown>>,
    retryAfterSeconds?: number,
    why: Reasons = {},
  ) {
    super(message, why.cause === undefined ? undefined : { cause: why.cause });
    this.code = code;
    this.details = details;
    this.retryAfterSeconds = retryAfterSeconds;
    this.kind = why.kind;
    this.#faults = why.faults;
  }

  /**
   * The faulty members of the input. They are in `details.fields`, or were given as `faults`, or are in
   * `details.field`.
   */
  get faults(): readonly FieldFault[] {
    const { fields, field } = (this.details ?? {}) as { fields?: readonly FieldFault[]; field?: string };
    if (fields) return fields;
    return this.#faults ?? (field === undefined ? [] : [{ path: field, message: this.message }]);
  }
}

interface Reasons {
  readonly kind?: UnavailableReason;
  readonly cause?: unknown;
  /** The faulty members, if `details.field` is not exact enough. */
  readonly faults?: readonly FieldFault[];
}

/**
 * Runs all checks of an input and returns their results by name. Errors that name a member of the input are collected
 * and thrown as one error (R270). It is a `validation_error` if all of them are. Otherwise it has the code and details
 * of the first one. `details.fields` lists all faults. Any other error is thrown at once.
 */
export function checkAll<Checks extends Readonly<Record<string, () => unknown>>>(
  checks: Checks,
): { readonly [Name in keyof Checks]: ReturnType<Checks[Name]> } {
  const refused: DomainError[] = [];
  const results = Object.entries(checks).map(([name, check]) => {
    try {
      return [name, check()];
    } catch (error) {
      if (!(error instanceof DomainError) || error.faults.length === 0) throw error;
      refused.push(error);
      return [name, undefined];
    }
  });
  const refusal = allInOne(refused);
  if (refusal) throw refusal;
  return Object.fromEntries(results);
}

function allInOne(refused: readonly DomainError[]): DomainError | undefined {
  const [first, ...others] = refused;
  if (!first || others.length === 0) return first;
  const all = validationError(refused.flatMap(({ faults }) => faults));
  if (refused.every(({ code }) => code === 'validation_error')) return all;
  const message = refused.map((refusal) => refusal.message).join('; ');
  return new DomainError(first.code, message, { ...first.details, ...all.details });
}

/** Value of Retry-After in seconds while an account moves, which takes at most five seconds. */
const MOVING_RETRY_SECONDS = 2;

/** Largest number of faults in one error. A hostile input can have 100,000 faults. */
export const FAULTS_MAX = 20;

export const unauthorized = (message: string) => new DomainError('unauthorized', message);
export const forbidden = (message: string) => new DomainError('forbidden', message);
/** Builds an error that names the first `FAULTS_MAX` faults. */
export const validationError = (faults: readonly FieldFault[]) => {
  const fields = faults.slice(0, FAULTS_MAX).map(({ path, message }) => ({ path: truncate(path), message }));
  const message = fields.map((field) => (field.path ? `${field.path}: ${field.message}` : field.message));
  return new DomainError('validation_error', message.join('; '), { fields });
};
export const notFound = (what: string) => new DomainError('not_found', `${truncate(what)} not found`);
export const payloadTooLarge = (maxBytes: number) =>
  new DomainError('payload_too_large', `The body has more than ${maxBytes} bytes.`, { maximum: maxBytes });
export const insufficientBalance = (balance: number, required: number, currency: string) =>
  new DomainError(
    'insufficient_balance',
    `The balance of ${balance} ${currency} does not cover the ${required} ${currency} that this message costs.`,
    { balance, required, currency },
  );
/**
 * Returns the error for a change of unknown outcome. Repeating the request could make the change twice (R217).
 * `details` names the object to look up.
 */
export const outcomeUnknown = (details?: Readonly<Record<string, unknown>>, cause?: unknown) =>
  new DomainError(
    'outcome_unknown',
    'The database did not answer, so it is unknown whether this was done. Look it up before you repeat the request. A send may be repeated with the same Idempotency-Key.',
    details,
    undefined,
    cause === undefined ? {} : { kind: 'database_unreachable', cause },
  );
/**
 * Returns the error for a change that was made, but whose result could not be read. Repeating the request would make
 * the change twice. `details` names the object to look up.
 */
export const doneButUnread = (details?: Readonly<Record<string, unknown>>, cause?: unknown) =>
  new DomainError(
    'outcome_unknown',
    'This was done, but the result could not be read. Look it up instead of repeating the request.',
    details,
    undefined,
    cause === undefined ? {} : { kind: 'database_unreachable', cause },
  );
/** Returns the error for a change of an account whose last changes are copied to another cell (R503). */
export const accountMoving = (cause?: unknown) =>
  new DomainError(
    'account_moving',
    'This account is being moved to another server, which takes some seconds. Try again.',
    undefined,
    MOVING_RETRY_SECONDS,
    { kind: 'account_moving', cause },
  );
/** Returns the error for a request about an account that another cell has now (R507). */
export const accountMoved = (cause?: unknown) =>
  new DomainError(
    'account_moved',
    'This account has moved to another server, and this request reached the old one. Use the address that your operator gives you.',
    undefined,
    undefined,
    { cause },
  );
export const serviceUnavailable = (
  message: string,
  retryAfterSeconds = 1,
  kind: UnavailableReason = 'overloaded',
  cause?: unknown,
) => new DomainError('service_unavailable', message, undefined, retryAfterSeconds, { kind, cause });
