export interface FieldFault {
  /** Dotted path in the variables, such as `ipAllowlist.0`. */
  readonly path: string;
  readonly message: string;
}

/** The gateway could not be reached at all. */
export const UNREACHABLE = 'UNREACHABLE';

/** Why a request failed: a code of the API, or `UNREACHABLE`. The message may be shown. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly code: string;
  readonly fields: readonly FieldFault[];
  readonly requestId: string | undefined;
  readonly retryAfterSeconds: number | undefined;

  constructor(
    code: string,
    message: string,
    more: {
      readonly fields?: readonly FieldFault[];
      readonly requestId?: string | undefined;
      readonly retryAfterSeconds?: number | undefined;
    } = {},
  ) {
    super(message);
    this.code = code;
    this.fields = more.fields ?? [];
    this.requestId = more.requestId;
    this.retryAfterSeconds = more.retryAfterSeconds;
  }

  /** True when trying the same again later may work, without anybody changing anything. */
  get isLostConnection(): boolean {
    return this.code === UNREACHABLE || this.code === 'SERVICE_UNAVAILABLE';
  }

  /** True when it is asked again by itself, which a banner says: what was shown before is still worth reading. */
  get passes(): boolean {
    return this.isLostConnection || this.code === 'RATE_LIMITED';
  }
}

/** One error of a GraphQL answer. */
export interface GraphqlFault {
  readonly message: string;
  readonly extensions?: {
    readonly code?: string;
    readonly details?: { readonly fields?: readonly FieldFault[]; readonly field?: string };
    readonly requestId?: string;
    readonly retryAfter?: number;
  };
}

/** The `ApiError` that an error of an answer stands for. */
export function apiErrorOf({ message, extensions = {} }: GraphqlFault, requestId?: string): ApiError {
  const { code = 'INTERNAL_SERVER_ERROR', details, retryAfter } = extensions;
  const fields = details?.fields ?? (details?.field === undefined ? [] : [{ path: details.field, message }]);
  return new ApiError(code, message, {
    fields,
    requestId: extensions.requestId ?? requestId,
    retryAfterSeconds: retryAfter,
  });
}
