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
import type { Bill } from './cost.ts';
import { badUserInput, markValueErrors } from './error-format.ts';
import { checkLimits, LIMITS, VALIDATION } from './limits.ts';

type Asked = Required<Pick<ExecutionArgs, 'schema' | 'document' | 'variableValues'>> &
  Pick<ExecutionArgs, 'operationName'>;

/** Parses and validates a subscription like any other operation. Returns its errors if it is refused. */
export function readSubscription(
  schema: GraphQLSchema,
  body: unknown,
  bill: Bill,
): Asked | { readonly errors: readonly GraphQLError[] } {
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
    return { schema, document, operationName, variableValues: variables };
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
