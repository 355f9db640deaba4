import { Ctx, Int, ObjectType, Resolver } from 'type-graphql';
import { SLICE_DEFAULT, SLICE_MAX } from '../domain/paging.ts';
import type { RecordedEvent } from '../domain/webhooks/event.ts';
import type { GraphqlContext } from './context.ts';
import { MessageEvent } from './message.graphql.ts';
import { Arg, Field, Query } from './typed.ts';

@ObjectType({ description: "A part of the account's events, in their order.", simpleResolvers: true })
class EventFeed {
  @Field(() => [MessageEvent], { description: 'The events.' })
  events!: readonly RecordedEvent[];

  @Field(() => String, {
    description: 'Pass it as `after` to go on from here, also when there was nothing new.',
  })
  cursor!: string;

  @Field(() => Boolean, { description: 'Whether more events follow.' })
  hasMore!: boolean;
}

@Resolver()
export class EventFeedResolver {
  @Query(() => EventFeed, {
    nullable: true,
    description: "The account's events in order, 30 days back, as webhooks receive them.",
    cost: { each: ({ limit }) => (typeof limit === 'number' ? limit : SLICE_DEFAULT) },
  })
  eventFeed(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('after', () => String, {
      nullable: true,
      description:
        'The `cursor` of the answer before; `latest` for the cursor of the newest event. Default: the oldest event.',
    })
    after?: string | null,
    @Arg('limit', () => Int, {
      nullable: true,
      description: `Number of events, 1 to ${SLICE_MAX}. Default: ${SLICE_DEFAULT}.`,
    })
    limit?: number | null,
  ) {
    return run(operations.events.feed, { after: after ?? undefined, limit: limit ?? SLICE_DEFAULT });
  }
}
