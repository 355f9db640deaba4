import { ApolloServerErrorCode } from '@apollo/server/errors';
import {
  type ASTNode,
  type DocumentNode,
  type FormattedExecutionResult,
  GraphQLError,
  type GraphQLFormattedError,
} from 'graphql';
import {
  DomainError,
  doneButUnread,
  type ErrorCode,
  type FieldFault,
  validationError,
} from '../domain/errors.ts';
import { truncate, truncateQuotes } from '../domain/text.ts';
import { valuePaths } from './argument-paths.ts';
import { codeOf, docUrlOf } from './error-codes.ts';

/** HTTP statuses of requests that are refused before GraphQL runs. All other codes mean 400. */
const STATUSES: Partial<Record<ErrorCode, number>> = {
  payload_too_large: 413,
  rate_limit_exceeded: 429,
  unsupported_media_type: 415,
  service_unavailable: 503,
  outcome_unknown: 503,
  account_moving: 503,
  account_moved: 421,
  internal_error: 500,
};
/** Codes that GraphQL and Apollo use for mistakes of the caller. Their messages reveal nothing and may be shown. */
const SHOWN: ReadonlySet<unknown> = new Set([
  ...Object.values(ApolloServerErrorCode),
  'BAD_USER_INPUT',
  'REFETCH',
]);

/**
 * Makes an error for a wrong value at `path`, for checks before the operation runs. `node` is the value's place in the
 * document.
 */
export function badUserInput(path: string, message: string, node?: ASTNode): GraphQLError {
  return badInput([{ path, message }], node);
}

/** Makes one error for several wrong values, for checks before the operation runs. */
export function badInput(faults: readonly FieldFault[], node?: ASTNode): GraphQLError {
  const { message, details } = validationError(faults);
  return new GraphQLError(message, {
    nodes: node,
    extensions: { code: 'BAD_USER_INPUT', details, http: { status: 400 } },
  });
}

/** Returns the domain error that caused an error. Undefined if the error is unexpected. */
export function domainErrorOf(
  error: unknown,
  faultOf: (error: unknown) => DomainError | undefined,
): DomainError | undefined {
  const original = error instanceof GraphQLError ? (error.originalError ?? error) : error;
  return original instanceof DomainError ? original : faultOf(original);
}

/**
 * Changes errors of an outage to `outcome_unknown`, if they occurred below a mutation's own field. The change was made
 * then, and only reading its result failed. So the client must not repeat the mutation.
 */
export function markDone(
  errors: readonly GraphQLError[],
  faultOf: (error: unknown) => DomainError | undefined,
): void {
  for (const error of errors) {
    const isBelow = (error.path?.length ?? 0) > 1;
    if (isBelow && domainErrorOf(error, faultOf)?.code === 'service_unavailable')
      error.extensions.isDone = true;
  }
}

/** Returns the domain error that caused an error of an operation. Undefined if the error is unexpected. */
export function refusalOf(
  error: unknown,
  faultOf: (error: unknown) => DomainError | undefined,
): DomainError | undefined {
  const refused = domainErrorOf(error, faultOf);
  const isDone = error instanceof GraphQLError && error.extensions.isDone === true;
  return refused && isDone ? doneButUnread(undefined, refused) : refused;
}

/** Returns the first error that is an outage. Undefined if there is none. */
export function outageIn(
  errors: readonly GraphQLError[],
  faultOf: (error: unknown) => DomainError | undefined,
): DomainError | undefined {
  const known = errors.map((error) => refusalOf(error, faultOf));
  return known.find((refused) => refused?.code === 'service_unavailable');
}

/** True if the error is unexpected, so that it must be logged and its text must be hidden. */
export function isUnforeseen(
  error: GraphQLError,
  faultOf: (error: unknown) => DomainError | undefined,
): boolean {
  if (domainErrorOf(error, faultOf)) return false;
  return (
    !SHOWN.has(error.extensions.code) || error.extensions.code === ApolloServerErrorCode.INTERNAL_SERVER_ERROR
  );
}

function extensionsOf(error: DomainError): Record<string, unknown> {
  const code = codeOf(error.code);
  return {
    code,
    docUrl: docUrlOf(code),
    ...(error.details === undefined ? {} : { details: error.details }),
    ...(error.retryAfterSeconds === undefined ? {} : { retryAfter: error.retryAfterSeconds }),
  };
}

/**
 * Formats an error for the caller. An expected error keeps its code and message. For an unexpected error, only a
 * request id is shown.
 */
export function formatError(
  formatted: GraphQLFormattedError,
  error: unknown,
  faultOf: (error: unknown) => DomainError | undefined,
): GraphQLFormattedError {
  const { locations, path } = formatted;
  const message = truncateQuotes(formatted.message);
  const where = { ...(locations ? { locations } : {}), ...(path ? { path } : {}) };
  const refused = refusalOf(error, faultOf);
  if (refused) return { message: refused.message, ...where, extensions: extensionsOf(refused) };
  const { code, details, limit, requestId } = formatted.extensions ?? {};
  if (SHOWN.has(code) && code !== ApolloServerErrorCode.INTERNAL_SERVER_ERROR) {
    // A value that does not fit its type is a mistake of the caller, whether it is in the document or in the variables.
    const shown = details === undefined ? String(code) : 'BAD_USER_INPUT';
    return {
      message,
      ...where,
      extensions: {
        code: shown,
        docUrl: docUrlOf(shown),
        ...(details === undefined ? {} : { details }),
        ...(limit === undefined ? {} : { limit }),
      },
    };
  }
  return {
    message: `Something went wrong here. Quote request ${requestId}.`,
    ...where,
    extensions: { code: 'INTERNAL_SERVER_ERROR', docUrl: docUrlOf('INTERNAL_SERVER_ERROR'), requestId },
  };
}

/** Returns the HTTP status and headers for a request that is refused as a whole. */
export function statusOf({ code, retryAfterSeconds }: DomainError) {
  const headers: Record<string, string> =
    retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) };
  return { status: STATUSES[code] ?? 400, headers };
}

/** Makes the response to a request that was refused before GraphQL ran. */
export function earlyRefusal(error: DomainError): FormattedExecutionResult {
  return { errors: [{ message: error.message, extensions: extensionsOf(error) }] };
}

/** Adds `details` with paths to validation errors that concern a value. */
export function markValueErrors(document: DocumentNode, errors: readonly GraphQLError[]): void {
  const wanted = new Set(errors.flatMap(({ nodes }) => nodes?.[0] ?? []));
  const paths = wanted.size > 0 ? valuePaths(document, wanted) : new Map<ASTNode, string>();
  for (const error of errors) {
    const inside = error.nodes?.[0] && paths.get(error.nodes[0]);
    const message = truncateQuotes(error.message);
    const missing =
      /^Field "[^"]*" argument "([^"]*)" of type .* is required/.exec(message)?.[1] ??
      /^Field "[^"]*\.([^".]*)" of required type/.exec(message)?.[1];
    const path = [inside, missing].filter((part) => part !== undefined && part !== '').join('.');
    if (inside === undefined && missing === undefined) continue;
    error.extensions.details = { fields: [{ path: truncate(path), message }] };
  }
}
