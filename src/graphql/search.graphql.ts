import { Ctx, Resolver } from 'type-graphql';
import type { Environment } from '../domain/caller.ts';
import { meaningOf } from '../domain/search/search-operations.ts';
import type { GraphqlContext } from './context.ts';
import { EnvironmentEnum } from './enums.ts';
import { Node, nodeOf } from './node.graphql.ts';
import { Arg, Query } from './typed.ts';

/** Points of a search (R280). A search in texts reads many messages. Any other search uses indexes. */
const POINTS = { text: 1_000, other: 50 } as const;

/** Finds objects by a text that a person remembers. */
@Resolver()
export class SearchResolver {
  @Query(() => [Node], {
    nullable: true,
    description:
      'Messages, deliveries, requests, contacts, keys, webhooks and people, by the id of any object, a request id, a phone number in any spelling, an email address, or a part of a name or a text. At most 5 of a kind, the best first. Texts of messages: only the newest 100,000 of each channel are searched.',
    cost: {
      each: ({ text }) =>
        typeof text === 'string' && meaningOf(text).kind !== 'text' ? POINTS.other : POINTS.text,
    },
  })
  async search(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('text', () => String, { description: 'What to find, 2 to 100 characters.' }) text: string,
    @Arg('environment', () => EnvironmentEnum, { nullable: true, description: 'Default: both.' })
    environment?: Environment | null,
  ) {
    const found = await run(operations.search.find, { text, environment: environment ?? undefined });
    return found.flatMap((one) => nodeOf(one) ?? []);
  }
}
