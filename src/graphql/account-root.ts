/**
 * Adds the lists of `Query`, such as `messages`, to the type `Account`. With `account(id)` operators read the lists of
 * any account.
 */
import { type GraphQLFieldResolver, type GraphQLSchema, isObjectType } from 'graphql';
import type { GraphqlContext } from './context.ts';

/** Fields of `Query` that are also fields of `Account`. They always show the account of the caller. */
const LISTS = [
  'apiKeys',
  'messages',
  'recipients',
  'usage',
  'analytics',
  'ledger',
  'statement',
  'members',
  'webhooks',
  'contacts',
  'devices',
  'auditLog',
] as const;

type Resolve = GraphQLFieldResolver<unknown, GraphqlContext>;
type Path = Parameters<Resolve>[3]['path'];

/**
 * Adds the lists to `Account`. If an operator queries `account(id)`, all fields below it are resolved with a context
 * that reads the account as its VIEWER (R290). Anywhere else the lists refuse operators.
 */
export function makeAccountRoot(schema: GraphQLSchema): GraphQLSchema {
  const query = schema.getQueryType()?.getFields() ?? {};
  const account = schema.getType('Account');
  if (!isObjectType(account)) throw new Error('the schema has no Account');
  const lists = LISTS.map((name) => {
    const field = query[name];
    if (!field) throw new Error(`Query.${name} is missing`);
    return [name, { ...field }] as const;
  });
  Object.assign(account.getFields(), Object.fromEntries(lists));
  for (const type of Object.values(schema.getTypeMap())) {
    if (!isObjectType(type) || type.name.startsWith('__')) continue;
    for (const field of Object.values(type.getFields())) {
      if (field.resolve) field.resolve = inspecting(field.resolve as Resolve);
    }
  }
  return schema;
}

function inspecting(resolve: Resolve): Resolve {
  return (source, args, context, info) => {
    const shown = context.inspections.size === 0 ? undefined : context.inspections.get(rootOf(info.path));
    return resolve(source, args, info.path.prev && shown ? shown : context, info);
  };
}

/** Returns the response key of the root field above `path`. */
function rootOf(path: Path): string | number {
  let root = path;
  while (root.prev) root = root.prev;
  return root.key;
}
