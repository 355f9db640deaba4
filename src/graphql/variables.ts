import {
  coerceInputValue,
  type DocumentNode,
  type GraphQLInputType,
  type GraphQLSchema,
  getNamedType,
  isInputType,
  isNonNullType,
  isSpecifiedScalarType,
  type OperationDefinitionNode,
  typeFromAST,
  type VariableDefinitionNode,
  valueFromAST,
} from 'graphql';
import { FAULTS_MAX, type FieldFault } from '../domain/errors.ts';
import { truncateQuotes } from '../domain/text.ts';
import { variablePath } from './argument-paths.ts';
import { badInput } from './error-format.ts';

/** Number of members of an object in a message. The message shows fewer, because it is shortened. */
const PRINTED_MEMBERS = 30;

export type Variables = Readonly<Record<string, unknown>>;

/**
 * Returns the variables of an operation with their defaults. Throws `BAD_USER_INPUT` with the first 20 values that do
 * not fit, each with its path from the argument. graphql-js itself would list all faults, and would print the whole
 * value each time.
 */
export function coerceVariables(
  schema: GraphQLSchema,
  document: DocumentNode,
  operation: OperationDefinitionNode,
  given: Variables,
): Variables {
  const coerced: [string, unknown][] = [];
  const faults = new Faults(document);
  for (const definition of operation.variableDefinitions ?? []) {
    const type = typeFromAST(schema, definition.type);
    // Variables have input types only, because validation has refused any other type.
    if (!isInputType(type)) continue;
    const name = definition.variable.name.value;
    if (Object.hasOwn(given, name))
      coerced.push([name, coerceVariable(definition, type, given[name], faults)]);
    else if (definition.defaultValue) coerced.push([name, valueFromAST(definition.defaultValue, type)]);
    else if (isNonNullType(type))
      faults.add(definition, [], `is a variable of type ${type}, which must be given`);
  }
  faults.throwIfAny();
  return Object.fromEntries(coerced);
}

function coerceVariable(
  definition: VariableDefinitionNode,
  type: GraphQLInputType,
  value: unknown,
  faults: Faults,
): unknown {
  return coerceInputValue(
    isSpecifiedScalarType(getNamedType(type)) ? withFewMembers(value) : value,
    type,
    (path, _value, error) => faults.add(definition, path, truncateQuotes(error.message)),
    // True hides suggestions of similar names. They would reveal the schema, and finding them takes long for long
    // names.
    true,
  );
}

/**
 * Returns the first members of an object, and any other value as it is. A scalar refuses every object. graphql-js would
 * print all members of it into a message that is shortened afterwards.
 */
function withFewMembers(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const few: Record<string, unknown> = {};
  let count = 0;
  for (const name in value) {
    few[name] = (value as Variables)[name];
    count += 1;
    if (count === PRINTED_MEMBERS) break;
  }
  return few;
}

/** Collects the faults of variables. Stops after the twentieth. */
class Faults {
  readonly #document: DocumentNode;
  readonly #found: FieldFault[] = [];
  #first: VariableDefinitionNode | undefined;

  constructor(document: DocumentNode) {
    this.#document = document;
  }

  add(definition: VariableDefinitionNode, path: readonly (string | number)[], message: string): void {
    this.#first ??= definition;
    const start = variablePath(this.#document, definition.variable.name.value);
    this.#found.push({ path: [start, ...path].join('.'), message });
    if (this.#found.length >= FAULTS_MAX) this.throwIfAny();
  }

  throwIfAny(): void {
    if (this.#found.length > 0) throw badInput(this.#found, this.#first);
  }
}
