export interface FieldFault {
  /** Dotted path from the argument, such as `input.ipAllowlist.0`. */
  readonly path: string;
  readonly message: string;
}

/** The gateway did not answer. */
export const UNREACHABLE = 'UNREACHABLE';

/** Why a request failed: a code of the API, or `UNREACHABLE`. The message is fit for people. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly code: string;
  readonly fields: readonly FieldFault[];
  readonly requestId: string | undefined;
  readonly retryAfterSeconds: number | undefined;
  /** Of `SECOND_FACTOR_REQUIRED`: what a code answers. */
  readonly challenge: string | undefined;
  /** Of `SECOND_FACTOR_REQUIRED`: what a passkey answers, if the person has one. */
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

  /** True when the same request may work later without a change. */
  get isLostConnection(): boolean {
    return this.code === UNREACHABLE || this.code === 'SERVICE_UNAVAILABLE';
  }

  /** True when the console retries by itself and a banner says so. The page keeps what it showed before. */
  get passes(): boolean {
    return this.isLostConnection || this.code === 'RATE_LIMITED';
  }
}

/** One error of a GraphQL answer. */
export interface GraphqlFault {
  readonly message: string;
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

/** The `ApiError` for an error of an answer. */
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
