import { Ctx, Int, ObjectType, Resolver } from 'type-graphql';
import type { Channel } from '../domain/messages/message.ts';
import type { ProviderState } from '../domain/ports/routing.ts';
import type { GraphqlContext } from './context.ts';
import { ChannelEnum, ProviderStateEnum } from './enums.ts';
import { DateTime } from './scalars.ts';
import { Field, Query } from './typed.ts';

@ObjectType({
  description:
    'Health of a carrier or provider as one worker process sees it, a few seconds late. Counts cover the last five minutes.',
  simpleResolvers: true,
})
export class ProviderHealth {
  @Field(() => String, {
    description:
      'Name of the carrier or provider: its address without credentials. Several with the same address have `#2` and so on.',
  })
  name!: string;

  @Field(() => ChannelEnum, { description: 'Channel that it carries.' })
  channel!: Channel;

  @Field(() => [String], {
    description: 'Leading digits of the numbers that are routed to it. An empty text means all others.',
  })
  prefixes!: readonly string[];

  @Field(() => ProviderStateEnum, { description: 'State.' })
  state!: ProviderState;

  @Field(() => String, { nullable: true, description: 'Why it is not up.' })
  detail!: string | null;

  @Field(() => Int, { description: 'Submits: one for each recipient and attempt.' })
  submitted!: number;

  @Field(() => Int, { description: 'Submits that it rejected for good.' })
  rejected!: number;

  @Field(() => Int, { description: 'Submits that it did not accept and that are retried.' })
  failed!: number;

  @Field(() => Int, { description: 'Submits that it has not answered yet.' })
  inFlight!: number;

  @Field(() => String, { nullable: true, description: 'The last error.' })
  lastError!: string | null;

  @Field(() => DateTime, { nullable: true, description: 'When the last error occurred.' })
  lastErrorAt!: Date | null;

  @Field(() => DateTime, { nullable: true, description: 'When it last accepted a message.' })
  lastSuccessAt!: Date | null;

  @Field(() => String, { description: 'The worker process that reports this: host and process id.' })
  process!: string;

  @Field(() => DateTime, { description: 'When the process reported this.' })
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
