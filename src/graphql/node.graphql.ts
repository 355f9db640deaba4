import { Ctx, ID, InterfaceType, Resolver } from 'type-graphql';
import { type FoundObject, idOf } from '../domain/objects/object-operations.ts';
import { SLICE_MAX } from '../domain/paging.ts';
import type { GraphqlContext } from './context.ts';
import { Arg, Field, Query } from './typed.ts';

/** The GraphQL type of each kind of object that the domain finds by id. */
const TYPE_OF_KIND = {
  account: 'Account',
  user: 'User',
  apiKey: 'ApiKey',
  message: 'Message',
  webhook: 'Webhook',
  delivery: 'WebhookDelivery',
  contact: 'Contact',
  contactImport: 'ContactImport',
  device: 'Device',
  auditEntry: 'AuditEntry',
  request: 'ApiRequest',
} as const satisfies Readonly<Record<FoundObject['kind'], string>>;

@InterfaceType('Node', {
  description: 'An object with an identifier of its own. Caches and Relay find it again by `node`.',
  resolveType: (value) => (value as { readonly __typename: string }).__typename,
})
export abstract class Node {
  @Field(() => ID, { description: 'Identifier, unique among all objects.' })
  id!: string;
}

/** Finds objects by their id alone. */
@Resolver()
export class NodeResolver {
  @Query(() => Node, {
    nullable: true,
    description: 'The object with this identifier. Null if there is none that you may see.',
  })
  async node(
    @Ctx() { loaders }: GraphqlContext,
    @Arg('id', () => ID, { description: 'Identifier of the object.' }) id: string,
  ) {
    return nodeOf(await loaders.object.load(id));
  }

  @Query(() => [Node], {
    nullable: 'itemsAndList',
    description: `The objects with these identifiers, in their order. Null for each that does not exist or that you may not see. At most ${SLICE_MAX}.`,
  })
  async nodes(
    @Ctx() { loaders }: GraphqlContext,
    @Arg('ids', () => [ID], { description: 'Identifiers of the objects.' }) ids: readonly string[],
  ) {
    return (await Promise.all(ids.map((id) => loaders.object.load(id)))).map(nodeOf);
  }
}

/** Converts a found object into a value of the interface `Node`. */
export function nodeOf(found: FoundObject | undefined): Node | null {
  if (!found) return null;
  return Object.assign({}, found.object, { id: idOf(found), __typename: TYPE_OF_KIND[found.kind] });
}
