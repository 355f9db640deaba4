import { Ctx, Float, InputType, ObjectType, Resolver, Root } from 'type-graphql';
import { SCOPES } from '../domain/caller.ts';
import type { Channel } from '../domain/messages/message.ts';
import { fromMinor } from '../domain/money/money.ts';
import type { PriceRow } from '../domain/money/tariff.ts';
import { type GraphqlContext, sessionOf } from './context.ts';
import { ChannelEnum, ScopeEnum } from './enums.ts';
import { given } from './given.ts';
import { Money, moneyOf } from './money.graphql.ts';
import { Currency } from './scalars.ts';
import { Arg, Field, FieldResolver, InputField, Mutation, Query } from './typed.ts';

@ObjectType({
  description: 'Price of one unit for one recipient. The longest matching prefix applies.',
  simpleResolvers: true,
})
class Price {
  @Field(() => Currency, { description: 'Currency of the price.' })
  currency!: string;

  @Field(() => ChannelEnum, { description: 'Channel of the messages.' })
  channel!: Channel;

  @Field(() => String, { description: 'Leading digits of the destination. Empty means all destinations.' })
  prefix!: string;

  @Field(() => Boolean, {
    description:
      'False for a shipped price that no operator has set. In production it holds for numbers that begin with 256 only.',
  })
  isConfirmed!: boolean;
}

@InputType({ description: 'A price.' })
class SetPriceInput {
  @InputField(() => String, { description: 'Currency (ISO 4217).' })
  currency!: string;

  @InputField(() => ChannelEnum, { description: 'Channel of the messages.' })
  channel!: Channel;

  @InputField(() => String, {
    nullable: true,
    description: 'Leading digits of the destination, without `+`. Default: all destinations.',
  })
  prefix?: string | null;

  @InputField(() => Float, { description: 'Price of one unit for one recipient.' })
  amount!: number;

  @InputField(() => String, {
    nullable: true,
    description:
      'Unique name of the change. Repeating the change changes nothing; another change with the same name is refused.',
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

  @Mutation(() => Price, {
    description: 'Sets a price for new messages. For operators.',
    canDryRun: true,
    errors: ['step_up_required'],
  })
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

  @FieldResolver(() => Money, { description: 'The same price, exact.' })
  amountMoney(@Root() price: PriceRow): Money {
    return moneyOf(price.amountMinor, price.currency);
  }
}
