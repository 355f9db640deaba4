export interface FieldFault {
  /** Path of the invalid field from the argument on, separated by dots, such as `input.ipAllowlist.0`. */
  readonly path: string;
  readonly message: string;
}

/** Code of the `ApiError` for a request that got no answer from the gateway. */
export const UNREACHABLE = 'UNREACHABLE';

/**
 * Thrown when a request fails. `code` is an error code of the API, or `UNREACHABLE`. `message` is written for users.
 */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly code: string;
  readonly fields: readonly FieldFault[];
  readonly requestId: string | undefined;
  readonly retryAfterSeconds: number | undefined;
  /** Only with `SECOND_FACTOR_REQUIRED`: the token that `answerChallenge` needs together with the code. */
  readonly challenge: string | undefined;
  /**
   * WebAuthn options for a passkey. Undefined if the code is not `SECOND_FACTOR_REQUIRED` or the person has no passkey.
   */
  readonly passkey: Readonly<Record<string, unknown>> | undefined;

  constructor(
    code: string,
    message: string,
    more: {
      readonly fields?: readonly FieldFault[];
      readonly requestId?: string | undefined;
      readonly retryAfterSeconds?: number | undefined;
      readonly challenge?: string | undefined;
      readonly passkey?: Readonly<Record<string, unknown>> | undefined;
    } = {},
  ) {
    super(message);
    this.code = code;
    this.fields = more.fields ?? [];
    this.requestId = more.requestId;
    this.retryAfterSeconds = more.retryAfterSeconds;
    this.challenge = more.challenge;
    this.passkey = more.passkey;
  }

  /** True if the gateway was unreachable or unavailable. The same request may succeed later. */
  get isLostConnection(): boolean {
    return this.code === UNREACHABLE || this.code === 'SERVICE_UNAVAILABLE';
  }

  /** True if the console retries by itself and a banner says so. The page keeps its old data meanwhile. */
  get passes(): boolean {
    return this.isLostConnection || this.code === 'RATE_LIMITED';
  }
}

/** One entry of `errors` in a GraphQL response. */
export interface GraphqlFault {
  readonly message: string;
  /** Where in the answer it happened. Undefined if the document was refused as a whole. */
  readonly path?: readonly (string | number)[];
  readonly extensions?: {
    readonly code?: string;
    readonly details?: {
      readonly fields?: readonly FieldFault[];
      readonly field?: string;
      readonly challenge?: string;
      readonly passkey?: Readonly<Record<string, unknown>>;
    };
    readonly requestId?: string;
    readonly retryAfter?: number;
  };
}

/** Converts an entry of `errors` into an `ApiError`. */
export function apiErrorOf({ message, extensions = {} }: GraphqlFault, requestId?: string): ApiError {
  const { code = 'INTERNAL_SERVER_ERROR', details, retryAfter } = extensions;
  const fields = details?.fields ?? (details?.field === undefined ? [] : [{ path: details.field, message }]);
  return new ApiError(code, message, {
    fields,
    requestId: extensions.requestId ?? requestId,
    retryAfterSeconds: retryAfter,
    challenge: details?.challenge,
    passkey: details?.passkey,
  });
}
