import { Ctx, Field, Int, ObjectType, Query, Resolver } from 'type-graphql';
import type { Channel } from '../domain/messages/message.ts';
import type { ProviderState } from '../domain/ports/routing.ts';
import type { GraphqlContext } from './context.ts';
import { ChannelEnum, ProviderStateEnum } from './enums.ts';
import { DateTime } from './scalars.ts';

@ObjectType({
  description:
    'How a carrier or provider is, as one worker process sees it; some seconds late. Counts are of the last five minutes.',
  simpleResolvers: true,
})
class ProviderHealth {
  @Field(() => String, {
    description:
      'Name of the carrier or provider, with its address and no credentials; `#2` and so on where several have it.',
  })
  name!: string;

  @Field(() => ChannelEnum, { description: 'What it carries.' })
  channel!: Channel;

  @Field(() => [String], {
    description: 'Leading digits of the addresses that are routed to it; an empty text is for all others.',
  })
  prefixes!: readonly string[];

  @Field(() => ProviderStateEnum, { description: 'How it is.' })
  state!: ProviderState;

  @Field(() => String, { nullable: true, description: 'Why it is not up, in words.' })
  detail!: string | null;

  @Field(() => Int, { description: 'Messages that were handed over, one for each recipient and try.' })
  submitted!: number;

  @Field(() => Int, { description: 'Those that it refused for good.' })
  rejected!: number;

  @Field(() => Int, { description: 'Those that it did not take, and that are tried again or elsewhere.' })
  failed!: number;

  @Field(() => Int, { description: 'Messages handed over that it has not answered yet.' })
  inFlight!: number;

  @Field(() => String, { nullable: true, description: 'What went wrong last.' })
  lastError!: string | null;

  @Field(() => DateTime, { nullable: true, description: 'When that was.' })
  lastErrorAt!: Date | null;

  @Field(() => DateTime, { nullable: true, description: 'When it last took a message.' })
  lastSuccessAt!: Date | null;

  @Field(() => String, { description: 'The worker process that says so, by host and process id.' })
  process!: string;

  @Field(() => DateTime, { description: 'When the process said so.' })
  seenAt!: Date;
}

@Resolver(() => ProviderHealth)
export class ProviderResolver {
  @Query(() => [ProviderHealth], {
    nullable: true,
    description:
      'Carriers and providers as each worker process sees them, by channel and name. For operators.',
  })
  providers(@Ctx() { run, operations }: GraphqlContext) {
    return run(operations.providers.health, {});
  }
}
