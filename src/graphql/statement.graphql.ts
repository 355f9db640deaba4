import { Ctx, Float, ObjectType, Resolver } from 'type-graphql';
import type { Account } from '../domain/accounts/account.ts';
import type { Channel } from '../domain/messages/message.ts';
import { AccountType } from './account.graphql.ts';
import type { GraphqlContext } from './context.ts';
import { ChannelEnum } from './enums.ts';
import { Money, moneyOf } from './money.graphql.ts';
import { DateTime } from './scalars.ts';
import { Arg, Field, Query } from './typed.ts';

/** Points of a statement. It reads the counts of a month, and its credits from an index. */
const COST = 100;

@ObjectType('StatementCharge', {
  description: 'What the messages of one channel cost in a month.',
  simpleResolvers: true,
})
class StatementChargeType {
  @Field(() => ChannelEnum, { description: 'The channel.' })
  channel!: Channel;

  @Field(() => Float, { description: 'Number of messages.' })
  messages!: number;

  @Field(() => Money, { description: 'Their cost at acceptance.' })
  amount!: Money;
}

@ObjectType('Statement', {
  description:
    'What moved the balance in a calendar month (UTC). Opening balance, top-ups and refunds, less the charges, are the closing balance.',
  simpleResolvers: true,
})
class StatementType {
  @Field(() => AccountType, { description: 'The account.' })
  account!: Account;

  @Field(() => String, { description: 'The month, such as `2026-11`.' })
  month!: string;

  @Field(() => DateTime, { description: 'Start of the month.' })
  from!: Date;

  @Field(() => DateTime, { description: 'End of the month, exclusive.' })
  to!: Date;

  @Field(() => Boolean, { description: 'True if the month is over.' })
  isFinal!: boolean;

  @Field(() => Money, { description: 'Balance at the start.' })
  opening!: Money;

  @Field(() => Money, { description: 'Top-ups, and the balance with which the account began.' })
  topUps!: Money;

  @Field(() => Float, { description: 'Number of top-ups.' })
  topUpCount!: number;

  @Field(() => [StatementChargeType], { description: 'What messages cost, by channel.' })
  charges!: readonly StatementChargeType[];

  @Field(() => Money, { description: 'What was refunded in the month, also for messages of months before.' })
  refunds!: Money;

  @Field(() => Float, { description: 'Number of refunded recipients.' })
  refundCount!: number;

  @Field(() => Money, { description: 'Balance at the end; in the present month, the balance now.' })
  closing!: Money;

  @Field(() => Money, {
    description: 'What the sums lack to the closing balance. 0, unless the ledger and the counts disagree.',
  })
  difference!: Money;
}

@Resolver(() => StatementType)
export class StatementResolver {
  @Query(() => StatementType, {
    nullable: true,
    description: "The statement of the account's balance for one month.",
    cost: { each: () => COST },
  })
  async statement(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('month', () => String, { description: 'The month (UTC), such as `2026-11`.' }) month: string,
  ): Promise<StatementType> {
    const found = await run(operations.accounts.statement, { month });
    const money = (minor: number) => moneyOf(minor, found.account.currency);
    return {
      account: found.account,
      month: found.month.name,
      from: found.month.from,
      to: found.month.to,
      isFinal: found.isFinal,
      opening: money(found.openingMinor),
      topUps: money(found.topUpMinor),
      topUpCount: found.topUps,
      charges: found.charges.map(({ channel, messages, amountMinor }) => ({
        channel,
        messages,
        amount: money(amountMinor),
      })),
      refunds: money(found.refundMinor),
      refundCount: found.refunds,
      closing: money(found.closingMinor),
      difference: money(found.differenceMinor),
    };
  }
}
