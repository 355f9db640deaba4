import {
  coerceInputValue,
  type GraphQLInputType,
  type GraphQLSchema,
  isInputType,
  isNonNullType,
  type OperationDefinitionNode,
  typeFromAST,
  type VariableDefinitionNode,
  valueFromAST,
} from 'graphql';
import { truncateQuotes } from '../domain/text.ts';
import { badUserInput } from './error-format.ts';

export type Variables = Readonly<Record<string, unknown>>;

/**
 * The variables of an operation with their defaults. Throws `BAD_USER_INPUT` for the first value that does not fit,
 * with its path. graphql-js itself continues, and prints the whole value with each further error.
 */
export function coerceVariables(
  schema: GraphQLSchema,
  operation: OperationDefinitionNode,
  given: Variables,
): Variables {
  const coerced: [string, unknown][] = [];
  for (const definition of operation.variableDefinitions ?? []) {
    const type = typeFromAST(schema, definition.type);
    // Validation has refused any other type.
    if (!isInputType(type)) continue;
    const name = definition.variable.name.value;
    if (Object.hasOwn(given, name)) coerced.push([name, coerceVariable(definition, type, given[name])]);
    else if (definition.defaultValue) coerced.push([name, valueFromAST(definition.defaultValue, type)]);
    else if (isNonNullType(type))
      throw badUserInput(name, `is a variable of type ${type}, which must be given`, definition);
  }
  return Object.fromEntries(coerced);
}

function coerceVariable(definition: VariableDefinitionNode, type: GraphQLInputType, value: unknown): unknown {
  return coerceInputValue(
    value,
    type,
    (path, _value, error) => {
      throw badUserInput(
        [definition.variable.name.value, ...path].join('.'),
        truncateQuotes(error.message),
        definition,
      );
    },
    // Suggestions would reveal the schema, and finding similar names takes time for long ones.
    true,
  );
}
