import { Ctx, Float, ID, InputType, Int, ObjectType, Resolver } from 'type-graphql';
import type { ShownLimits } from '../domain/limits/send-limit-operations.ts';
import type { GraphqlContext } from './context.ts';
import { Currency } from './scalars.ts';
import { Arg, Field, InputField, Mutation, Query } from './typed.ts';

@ObjectType('SendLimitsUsed', {
  description: 'What was sent in the current hour and day, in UTC. Counts begin when a limit is first set.',
  simpleResolvers: true,
})
class SendLimitsUsedType {
  @Field(() => Float, { description: 'Spend of this hour.' })
  spendThisHour!: number;

  @Field(() => Float, { description: 'Spend of this day.' })
  spendToday!: number;

  @Field(() => Float, { description: 'Recipients of this day.' })
  recipientsToday!: number;
}

@ObjectType('SendLimits', {
  description:
    'What an account or a key may send. All limits that apply must allow a send. Null means that there is no such limit.',
  simpleResolvers: true,
})
class SendLimitsType implements Omit<ShownLimits, 'of'> {
  @Field(() => ID, { nullable: true, description: 'The key. Null for the limits of the whole account.' })
  keyId!: string | null;

  @Field(() => Currency, { description: 'Currency of the amounts.' })
  currency!: string;

  @Field(() => Float, { nullable: true, description: 'The most to spend in an hour.' })
  spendPerHour!: number | null;

  @Field(() => Float, { nullable: true, description: 'The most to spend on a day.' })
  spendPerDay!: number | null;

  @Field(() => Int, { nullable: true, description: 'The most recipients on a day.' })
  recipientsPerDay!: number | null;

  @Field(() => Int, { nullable: true, description: 'The most messages to one phone number in an hour.' })
  perNumberPerHour!: number | null;

  @Field(() => [String], {
    nullable: true,
    description: 'Leading digits of the phone numbers that may be sent to.',
  })
  allowedPrefixes!: readonly string[] | null;

  @Field(() => [String], {
    description: 'Leading digits of premium-rate, shared-cost and satellite numbers that may be sent to.',
  })
  openedPrefixes!: readonly string[];

  @Field(() => SendLimitsUsedType, { description: 'What was sent.' })
  used!: SendLimitsUsedType;
}

@InputType({ description: 'Send limits. An absent field stays as it is, null removes the limit.' })
class KeyLimitsInput {
  @InputField(() => Float, { nullable: true, description: 'The most to spend in an hour of UTC.' })
  spendPerHour?: number | null;

  @InputField(() => Float, { nullable: true, description: 'The most to spend on a day of UTC.' })
  spendPerDay?: number | null;

  @InputField(() => Int, { nullable: true, description: 'The most recipients on a day of UTC.' })
  recipientsPerDay?: number | null;

  @InputField(() => Int, { nullable: true, description: 'The most messages to one phone number in an hour.' })
  perNumberPerHour?: number | null;

  @InputField(() => [String], {
    nullable: true,
    description: 'Leading digits of the phone numbers that may be sent to, without `+`: 1 to 100.',
  })
  allowedPrefixes?: readonly string[] | null;
}

@InputType({
  description: 'Send limits of an account. An absent field stays as it is, null removes the limit.',
})
class AccountLimitsInput extends KeyLimitsInput {
  @InputField(() => [String], {
    nullable: true,
    description:
      'Leading digits of premium-rate, shared-cost and satellite numbers that may be sent to. Only operators add to it.',
  })
  openedPrefixes?: readonly string[] | null;
}

/** Limits of what accounts and keys may send (R370). */
@Resolver(() => SendLimitsType)
export class SendLimitsResolver {
  @Query(() => [SendLimitsType], {
    nullable: true,
    description: 'The send limits of an account and of its keys.',
  })
  sendLimits(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('accountId', () => ID, {
      nullable: true,
      description: 'The account. Default: your own. Required for operators.',
    })
    accountId?: string | null,
  ): Promise<readonly ShownLimits[]> {
    return run(operations.sendLimits.list, { accountId });
  }

  @Mutation(() => SendLimitsType, {
    description: 'Sets what a key may send. For owners, administrators and operators.',
    canDryRun: true,
    errors: ['not_found', 'step_up_required'],
  })
  setKeyLimits(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('keyId', () => ID, { description: 'The key.' }) keyId: string,
    @Arg('input', () => KeyLimitsInput, { description: 'The limits.' }) input: KeyLimitsInput,
  ): Promise<ShownLimits> {
    return run(operations.sendLimits.setOfKey, { ...input, keyId });
  }

  @Mutation(() => SendLimitsType, {
    description:
      'Sets what an account may send. For operators. Owners and administrators may only lower its limits.',
    canDryRun: true,
    errors: ['not_found', 'step_up_required'],
  })
  setAccountLimits(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('accountId', () => ID, { description: 'The account.' }) accountId: string,
    @Arg('input', () => AccountLimitsInput, { description: 'The limits.' }) input: AccountLimitsInput,
  ): Promise<ShownLimits> {
    const { openedPrefixes } = input;
    return run(operations.sendLimits.setOfAccount, {
      ...input,
      openedPrefixes: openedPrefixes === null ? [] : openedPrefixes,
      accountId,
    });
  }
}
