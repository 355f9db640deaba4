import { Ctx, Float, ID, InputType, ObjectType, Resolver, Root } from 'type-graphql';
import { SCOPES } from '../domain/caller.ts';
import type { Channel } from '../domain/messages/message.ts';
import { fromMinor } from '../domain/money/money.ts';
import type { PreviewedCost } from '../domain/money/price-changes.ts';
import type { PriceRow } from '../domain/money/tariff.ts';
import { type GraphqlContext, sessionOf } from './context.ts';
import type { FieldCost } from './cost.ts';
import { ChannelEnum, ScopeEnum } from './enums.ts';
import { given } from './given.ts';
import { Money, moneyOf } from './money.graphql.ts';
import { Currency, DateTime } from './scalars.ts';
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

@InputType({ description: 'A change of one price.' })
class PriceChangeInput {
  @InputField(() => ChannelEnum, { description: 'Channel of the messages.' })
  channel!: Channel;

  @InputField(() => String, {
    nullable: true,
    description: 'Leading digits of the destination, without `+`. Default: all destinations.',
  })
  prefix?: string | null;

  @InputField(() => Float, {
    nullable: true,
    description: 'Price of one unit for one recipient. Null: the price is taken away. It must be given.',
  })
  amount?: number | null;

  @InputField(() => Float, {
    nullable: true,
    description:
      'The price that you saw; null if there was none. If it is another one now, nothing is changed. Default: any.',
  })
  before?: number | null;
}

@InputType({ description: 'Changes of prices of one currency.' })
class ChangePricesInput {
  @InputField(() => String, { description: 'Currency (ISO 4217).' })
  currency!: string;

  @InputField(() => [PriceChangeInput], { description: 'The changes, 1 to 500, one for each prefix.' })
  changes!: readonly PriceChangeInput[];
}

@ObjectType('PreviewedCost', {
  description:
    'What traffic cost, and what it would have cost. The bounds differ if a price is for a longer prefix than the figures have.',
  simpleResolvers: true,
})
class PreviewedCostType {
  @Field(() => Money, { description: 'What was charged, before refunds.' })
  cost!: Money;

  @Field(() => Money, { description: 'The least that it would have cost.' })
  leastCost!: Money;

  @Field(() => Money, { description: 'The most that it would have cost.' })
  mostCost!: Money;

  @Field(() => Float, { description: 'Recipients for which no price would be left.' })
  refusedRecipients!: number;
}

@ObjectType('PreviewedAccount', {
  description: 'What the traffic of an account would have cost.',
  simpleResolvers: true,
})
class PreviewedAccountType {
  @Field(() => ID, { description: 'The account.' })
  id!: string;

  @Field(() => String, { description: 'Name of the account.' })
  name!: string;

  @Field(() => PreviewedCostType, { description: 'The costs.' })
  costs!: PreviewedCostType;
}

@ObjectType('PricePreview', {
  description: 'What production messages of the last 30 days would have cost at changed prices.',
  simpleResolvers: true,
})
class PricePreviewType {
  @Field(() => DateTime, { description: 'Start of the 30 days.' })
  from!: Date;

  @Field(() => DateTime, { description: 'End of the 30 days.' })
  to!: Date;

  @Field(() => PreviewedCostType, { description: 'Of all accounts of the currency.' })
  total!: PreviewedCostType;

  @Field(() => [PreviewedAccountType], {
    description: 'The accounts, the greatest difference first: at most 100.',
  })
  accounts!: readonly PreviewedAccountType[];
}

const PREVIEW_COST: FieldCost = { each: () => 400 };
const PREVIEWED_ACCOUNTS_MAX = 100;

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

  @Query(() => Price, {
    nullable: true,
    description: 'The price that holds for a number. Null if there is none: a send to it is refused.',
  })
  async priceFor(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('currency', () => String, { description: 'Currency of the account.' }) currency: string,
    @Arg('channel', () => ChannelEnum, { description: 'Channel of the message.' }) channel: Channel,
    @Arg('to', () => String, {
      description: 'The number, in any form that a send accepts. Ignored on a channel without numbers.',
    })
    to: string,
  ) {
    return (await run(operations.prices.holding, { currency, channel, to })) ?? null;
  }

  @Query(() => PricePreviewType, {
    nullable: true,
    description: 'What changed prices would have cost, by account. Changes nothing. For operators.',
    cost: PREVIEW_COST,
  })
  async previewPrices(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('input', () => ChangePricesInput, { description: 'The changes.' }) input: ChangePricesInput,
  ): Promise<PricePreviewType> {
    const { from, to, currency, total, accounts } = await run(operations.prices.preview, changesOf(input));
    return {
      from,
      to,
      total: shownCosts(total, currency),
      accounts: accounts.slice(0, PREVIEWED_ACCOUNTS_MAX).map(({ accountId, name, ...costs }) => ({
        id: accountId,
        name,
        costs: shownCosts(costs, currency),
      })),
    };
  }

  @Mutation(() => [Price], {
    description: 'Changes several prices of one currency at once. Returns all its prices. For operators.',
    canDryRun: true,
    errors: ['step_up_required'],
  })
  changePrices(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('input', () => ChangePricesInput, { description: 'The changes.' }) input: ChangePricesInput,
  ) {
    return run(operations.prices.change, changesOf(input));
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

function changesOf({ currency, changes }: ChangePricesInput) {
  return {
    currency,
    changes: changes.map(({ channel, prefix, amount, before }) => ({
      channel,
      prefix: prefix ?? '',
      amount,
      before,
    })),
  };
}

function shownCosts(
  { costMinor, leastMinor, mostMinor, refusedRecipients }: PreviewedCost,
  currency: string,
): PreviewedCostType {
  return {
    cost: moneyOf(costMinor, currency),
    leastCost: moneyOf(leastMinor, currency),
    mostCost: moneyOf(mostMinor, currency),
    refusedRecipients,
  };
}
