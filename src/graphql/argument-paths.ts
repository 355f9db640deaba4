/** Where a fault is: its path from the argument of the field, such as `input.scopes.0` (R271). */
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

/** Calls `note` with each argument, value and member of a value in a document, and its path. */
function visitValues(document: DocumentNode, note: (node: ASTNode, path: string) => void): void {
  const names: string[] = [];
  const nameOf = (node: ASTNode, key: string | number | undefined): string | undefined => {
    if (node.kind === Kind.ARGUMENT || node.kind === Kind.OBJECT_FIELD) return node.name.value;
    // Only elements of lists are values with a number.
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

/** Paths of the wanted nodes in the arguments of a document. */
export function valuePaths(document: DocumentNode, wanted: ReadonlySet<ASTNode>): Map<ASTNode, string> {
  const paths = new Map<ASTNode, string>();
  visitValues(document, (node, path) => {
    if (wanted.has(node)) paths.set(node, path);
  });
  return paths;
}

/** The path of a variable's first use in an argument; its name where there is none. */
export function variablePath(document: DocumentNode, name: string): string {
  let found: string | undefined;
  visitValues(document, (node, path) => {
    if (node.kind === Kind.VARIABLE && node.name.value === name) found ??= path;
  });
  return found ?? name;
}

/** Makes refusals of the domain name their faults from the arguments of the field that was asked for. */
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

/** The domain names members of an input; here the input is an argument. */
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
