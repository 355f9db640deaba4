import { Ctx, Float, ID, Int, ObjectType, Resolver, Root } from 'type-graphql';
import type { ReviewDecision } from '../domain/limits/held.ts';
import type { HeldReview, ShownHeldBlock } from '../domain/limits/held-operations.ts';
import { toMinor } from '../domain/money/money.ts';
import type { GraphqlContext } from './context.ts';
import { ReviewDecisionEnum } from './enums.ts';
import { Money, moneyOf } from './money.graphql.ts';
import { Currency, DateTime } from './scalars.ts';
import { Arg, Field, FieldResolver, Mutation, Query } from './typed.ts';

@ObjectType('HeldBlock', {
  description:
    'SMS to numbers in a row that look like pumping. They wait for a review, and are not charged before.',
  simpleResolvers: true,
})
class HeldBlockType implements ShownHeldBlock {
  @Field(() => String, { description: 'The leading digits of the numbers: all but the last three.' })
  block!: string;

  @Field(() => Int, { description: 'Number of held messages.' })
  messages!: number;

  @Field(() => Float, { description: 'Number of their recipients.' })
  recipients!: number;

  @Field(() => Float, { description: 'What they cost if they are released.' })
  cost!: number;

  @Field(() => Currency, { description: 'Currency of the cost.' })
  currency!: string;

  @Field(() => DateTime, { description: 'When the oldest of them was accepted.' })
  heldSince!: Date;

  @Field(() => DateTime, { description: 'When the oldest of them fails if nobody decides.' })
  expiresAt!: Date;
}

@ObjectType('HeldReview', { description: 'What a review decided.', simpleResolvers: true })
class HeldReviewType implements HeldReview {
  @Field(() => String, { description: 'The block of numbers.' })
  block!: string;

  @Field(() => ReviewDecisionEnum, { description: 'The decision.' })
  decision!: ReviewDecision;

  @Field(() => Int, { description: 'Number of messages that were released or rejected.' })
  messages!: number;

  @Field(() => Float, { description: 'Number of their recipients.' })
  recipients!: number;

  @Field(() => Float, { description: 'What was charged.' })
  cost!: number;

  @Field(() => Currency, { description: 'Currency of the cost.' })
  currency!: string;

  @Field(() => Int, { description: 'Messages of the block that are held still. Ask again for them.' })
  left!: number;
}

/** Messages that are held for review (R394, R398). */
@Resolver(() => HeldBlockType)
export class HeldResolver {
  @Query(() => [HeldBlockType], {
    nullable: true,
    description: 'Blocks of numbers with messages that are held for review, the oldest first.',
  })
  heldBlocks(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('accountId', () => ID, {
      nullable: true,
      description: 'The account. Default: your own. Required for operators.',
    })
    accountId?: string | null,
  ): Promise<readonly ShownHeldBlock[]> {
    return run(operations.held.list, { accountId });
  }

  @Mutation(() => HeldReviewType, {
    description:
      'Releases or rejects the held messages of a block, at most 1,000 with 2,000 recipients. For owners, administrators and operators.',
    canDryRun: true,
    errors: ['not_found', 'insufficient_balance', 'step_up_required'],
  })
  reviewHeld(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('block', () => String, { description: 'The block of numbers.' }) block: string,
    @Arg('decision', () => ReviewDecisionEnum, { description: 'The decision.' }) decision: ReviewDecision,
    @Arg('accountId', () => ID, {
      nullable: true,
      description: 'The account. Default: your own. Required for operators.',
    })
    accountId?: string | null,
  ): Promise<HeldReview> {
    return run(operations.held.review, { block, decision, accountId });
  }

  @FieldResolver(() => Money, { description: 'What they cost, exactly.' })
  costMoney(@Root() { cost, currency }: ShownHeldBlock): Money {
    return moneyOf(toMinor(cost, currency), currency);
  }
}

@Resolver(() => HeldReviewType)
export class HeldReviewResolver {
  @FieldResolver(() => Money, { description: 'What was charged, exactly.' })
  costMoney(@Root() { cost, currency }: HeldReview): Money {
    return moneyOf(toMinor(cost, currency), currency);
  }
}
