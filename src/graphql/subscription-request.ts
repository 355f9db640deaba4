import {
  type DocumentNode,
  type ExecutionArgs,
  GraphQLError,
  type GraphQLSchema,
  getOperationAST,
  parse,
  specifiedRules,
  validate,
} from 'graphql';
import type { LiveKind } from '../domain/ports/changes.ts';
import type { Bill } from './cost.ts';
import { badUserInput, markValueErrors } from './error-format.ts';
import { checkLimits, LIMITS, VALIDATION } from './limits.ts';
import { isLive, liveKindsOf } from './live-query.ts';
import type { PersistedDocuments } from './persisted-documents.ts';

const UNKNOWN_DOCUMENT =
  'A query with @live runs only from a document that the server knows. Send its hash too, as for persisted queries.';

export type Asked = Required<Pick<ExecutionArgs, 'schema' | 'document' | 'variableValues'>> &
  Pick<ExecutionArgs, 'operationName'>;

interface Read {
  readonly asked: Asked;
  /** The kinds of changes after which a query with `@live` runs again. Undefined for a subscription. */
  readonly kinds: readonly LiveKind[] | undefined;
}

/**
 * Parses and validates a subscription, or a query with `@live`, like any other operation. Returns its errors if it is
 * refused.
 */
export function readSubscription(
  schema: GraphQLSchema,
  body: unknown,
  bill: Bill,
  documents: Pick<PersistedDocuments, 'knows'>,
): Read | { readonly errors: readonly GraphQLError[] } {
  try {
    const { query, operationName, variables } = parametersOf(body);
    const document = parseDocument(query);
    const errors = validate(schema, document, specifiedRules, VALIDATION);
    markValueErrors(document, errors);
    if (errors.length > 0) return { errors: coded(errors, 'GRAPHQL_VALIDATION_FAILED') };
    const operation = getOperationAST(document, operationName);
    if (!operation)
      throw refusal('Name one of the operations of the document.', 'OPERATION_RESOLUTION_FAILURE');
    checkLimits(schema, document, operation, variables, bill);
    const kinds = isLive(operation) ? liveKindsOf(schema, document, operation) : undefined;
    if (kinds && !documents.knows(query)) throw refusal(UNKNOWN_DOCUMENT, 'BAD_REQUEST');
    return { asked: { schema, document, operationName, variableValues: variables }, kinds };
  } catch (error) {
    if (error instanceof GraphQLError) return { errors: [error] };
    throw error;
  }
}

/** Returns the parameters in a body. Throws `BAD_USER_INPUT` if they are missing or have a wrong type. */
export function parametersOf(body: unknown) {
  if (!isObject(body)) throw badUserInput('', 'The body must be a JSON object.');
  const { query, operationName, variables } = body;
  if (typeof query !== 'string') throw badUserInput('query', 'must be a GraphQL document');
  if (!isNone(operationName) && typeof operationName !== 'string') {
    throw badUserInput('operationName', 'must be a string');
  }
  if (!isNone(variables) && !isObject(variables)) throw badUserInput('variables', 'must be an object');
  return { query, operationName: operationName ?? null, variables: variables ?? {} };
}

function parseDocument(query: string): DocumentNode {
  try {
    return parse(query, { maxTokens: LIMITS.tokens });
  } catch (error) {
    throw error instanceof GraphQLError ? coded([error], 'GRAPHQL_PARSE_FAILED')[0] : error;
  }
}

function coded(errors: readonly GraphQLError[], code: string): readonly GraphQLError[] {
  for (const error of errors) error.extensions.code ??= code;
  return errors;
}

function refusal(message: string, code: string): GraphQLError {
  return new GraphQLError(message, { extensions: { code } });
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isNone(value: unknown): value is null | undefined {
  return value === null || value === undefined;
}
