import {
  Arg,
  Ctx,
  Field,
  FieldResolver,
  Float,
  InputType,
  Mutation,
  ObjectType,
  Query,
  Resolver,
  Root,
} from 'type-graphql';
import { SCOPES } from '../domain/caller.ts';
import type { Channel } from '../domain/messages/message.ts';
import { fromMinor } from '../domain/money/money.ts';
import type { PriceRow } from '../domain/money/tariff.ts';
import { type GraphqlContext, sessionOf } from './context.ts';
import { ChannelEnum, ScopeEnum } from './enums.ts';
import { given } from './given.ts';

@ObjectType({
  description: 'What one unit for one recipient costs. The longest prefix of the destination wins.',
  simpleResolvers: true,
})
class Price {
  @Field(() => String, { description: 'Currency, ISO 4217.' })
  currency!: string;

  @Field(() => ChannelEnum, { description: 'Channel it holds for.' })
  channel!: Channel;

  @Field(() => String, { description: 'Leading digits of the destination; empty for all.' })
  prefix!: string;
}

@InputType({ description: 'A price.' })
class SetPriceInput {
  @Field(() => String, { description: 'Currency, ISO 4217.' })
  currency!: string;

  @Field(() => ChannelEnum, { description: 'Channel it holds for.' })
  channel!: Channel;

  @Field(() => String, {
    nullable: true,
    description: 'Leading digits of the destination, without `+`; all when absent.',
  })
  prefix?: string | null;

  @Field(() => Float, { description: 'Price of one unit for one recipient.' })
  amount!: number;

  @Field(() => String, {
    nullable: true,
    description:
      'Names the change: the same again changes nothing, and another one under its name is refused.',
  })
  reference?: string | null;
}

@Resolver(() => Price)
export class PriceResolver {
  @Query(() => [Price], { nullable: true, description: 'All prices in force.' })
  prices(@Ctx() { run, operations }: GraphqlContext) {
    return run(operations.prices.list, {});
  }

  @Query(() => [ScopeEnum], { nullable: true, description: 'Every scope that a key can have.' })
  scopes(@Ctx() context: GraphqlContext) {
    sessionOf(context);
    return SCOPES;
  }

  @Mutation(() => Price, { description: 'Sets a price for messages from now on. For operators.' })
  setPrice(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('input', () => SetPriceInput, { description: 'The price.' }) input: SetPriceInput,
  ) {
    const { currency, channel, amount } = input;
    return run(operations.prices.set, {
      ...given(input),
      currency,
      channel,
      amount,
      prefix: input.prefix ?? '',
    });
  }

  @FieldResolver(() => Float, { description: 'Price of one unit for one recipient.' })
  amount(@Root() price: PriceRow): number {
    return fromMinor(price.amountMinor, price.currency);
  }
}
