/** Finds the path of a wrong value in an operation. It begins with the argument's name: `input.scopes.0` (R271). */
import {
  type ASTNode,
  type DocumentNode,
  defaultFieldResolver,
  type GraphQLArgument,
  type GraphQLField,
  type GraphQLSchema,
  getNamedType,
  isInputObjectType,
  isObjectType,
  Kind,
  visit,
} from 'graphql';
import { DomainError, validationError } from '../domain/errors.ts';

/** Calls `note` for each argument of a document and for each value inside an argument, with its path. */
function visitValues(document: DocumentNode, note: (node: ASTNode, path: string) => void): void {
  const names: string[] = [];
  const nameOf = (node: ASTNode, key: string | number | undefined): string | undefined => {
    if (node.kind === Kind.ARGUMENT || node.kind === Kind.OBJECT_FIELD) return node.name.value;
    // A numeric key is an index only if the node is a value in a list.
    return VALUES.has(node.kind) && typeof key === 'number' ? String(key) : undefined;
  };
  visit(document, {
    enter: (node, key) => {
      const name = nameOf(node, key);
      if (name !== undefined) names.push(name);
      if (names.length > 0) note(node, names.join('.'));
    },
    leave: (node, key) => {
      if (nameOf(node, key) !== undefined) names.pop();
    },
  });
}

const VALUES: ReadonlySet<string> = new Set([
  Kind.VARIABLE,
  Kind.INT,
  Kind.FLOAT,
  Kind.STRING,
  Kind.BOOLEAN,
  Kind.NULL,
  Kind.ENUM,
  Kind.LIST,
  Kind.OBJECT,
]);

/** Returns the paths of the `wanted` nodes that are in arguments of the document. */
export function valuePaths(document: DocumentNode, wanted: ReadonlySet<ASTNode>): Map<ASTNode, string> {
  const paths = new Map<ASTNode, string>();
  visitValues(document, (node, path) => {
    if (wanted.has(node)) paths.set(node, path);
  });
  return paths;
}

/**
 * Returns the path of the argument in which the variable `name` is used first. Returns the name itself if it is not
 * used.
 */
export function variablePath(document: DocumentNode, name: string): string {
  let found: string | undefined;
  visitValues(document, (node, path) => {
    if (node.kind === Kind.VARIABLE && node.name.value === name) found ??= path;
  });
  return found ?? name;
}

/** Changes the schema, so that refusals of the domain name their faults by the arguments of the GraphQL field. */
export function nameArguments(schema: GraphQLSchema): GraphQLSchema {
  for (const type of Object.values(schema.getTypeMap())) {
    if (!isObjectType(type) || type.name.startsWith('__')) continue;
    for (const field of Object.values(type.getFields())) {
      if (field.args.length > 0) field.resolve = named(field);
    }
  }
  return schema;
}

function named(field: GraphQLField<unknown, unknown>): GraphQLField<unknown, unknown>['resolve'] {
  const resolve = field.resolve ?? defaultFieldResolver;
  return async (source, args, context, info) => {
    try {
      return await resolve(source, args, context, info);
    } catch (error) {
      throw error instanceof DomainError && error.faults.length > 0 ? placed(error, field.args) : error;
    }
  };
}

function placed(error: DomainError, args: readonly GraphQLArgument[]): DomainError {
  const faults = error.faults.map(({ path, message }) => ({ path: pathIn(args, path), message }));
  const named = validationError(faults);
  if (error.code === 'validation_error') return named;
  const { code, message, details, retryAfterSeconds, kind, cause } = error;
  return new DomainError(code, message, { ...details, ...named.details }, retryAfterSeconds, {
    ...(kind === undefined ? {} : { kind }),
    cause,
  });
}

/**
 * Translates a path of the domain. Such a path starts at a field of the input. In GraphQL the input is an argument, so
 * the path starts with the argument's name.
 */
function pathIn(args: readonly GraphQLArgument[], path: string): string {
  const [head = ''] = path.split('.');
  if (args.some(({ name }) => name === head)) return path;
  const inputs = args.flatMap(({ name, type }) => {
    const named = getNamedType(type);
    return isInputObjectType(named) ? [{ name, members: named.getFields() }] : [];
  });
  const holder = inputs.find(({ members }) => path === '' || Object.hasOwn(members, head));
  if (!holder) return path;
  return path === '' ? holder.name : `${holder.name}.${path}`;
}
