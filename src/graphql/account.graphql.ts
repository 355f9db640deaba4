import type { GraphQLResolveInfo } from 'graphql';
import { Args, Ctx, Float, ID, Info, InputType, Int, ObjectType, Resolver, Root } from 'type-graphql';
import type {
  Account,
  AccountOrder,
  LedgerEntry,
  LedgerEntryKind,
  Plan,
  RetentionDays,
} from '../domain/accounts/account.ts';
import { fromMinor } from '../domain/money/money.ts';
import type { AccountTrouble } from '../domain/platform/account-troubles.ts';
import { connection, connectionOf } from './connection.ts';
import { type GraphqlContext, inspectingContext, sessionOf } from './context.ts';
import { weighing } from './cost.ts';
import { AccountOrderEnum, AccountTroubleEnum, LedgerEntryKindEnum } from './enums.ts';
import { given } from './given.ts';
import { Money, moneyOf } from './money.graphql.ts';
import { Node } from './node.graphql.ts';
import { PlanType } from './plan.graphql.ts';
import { Currency, DateTime } from './scalars.ts';
import { SliceArgs, TwoWaySliceArgs } from './slice-args.ts';
import { Arg, Field, FieldResolver, InputField, Mutation, Query } from './typed.ts';

@ObjectType('Retention', {
  description: 'How long an account keeps messages, in days after acceptance. Null means forever.',
  simpleResolvers: true,
})
class RetentionType implements RetentionDays {
  @Field(() => Int, { nullable: true, description: 'Days until the text of a message is deleted.' })
  contentDays!: number | null;

  @Field(() => Int, {
    nullable: true,
    description: 'Days until a message is deleted. Its ledger entries stay.',
  })
  messageDays!: number | null;
}

@ObjectType('Account', {
  implements: Node,
  description: 'A customer of the gateway. The balance always equals the sum of the ledger.',
  simpleResolvers: true,
})
export class AccountType {
  @Field(() => ID, { description: 'Identifier of the account.' })
  id!: string;

  @Field(() => String, { description: 'Name of the account.' })
  name!: string;

  @Field(() => String, { description: 'Email address of the account.' })
  email!: string;

  @Field(() => Currency, { description: 'Currency of the balance.' })
  currency!: string;

  @Field(() => RetentionType, { description: 'How long messages are kept.' })
  retention!: RetentionDays;

  @Field(() => Boolean, { description: 'Whether members must have a second factor.' })
  requireSecondFactor!: boolean;

  @Field(() => PlanType, {
    nullable: true,
    description: 'The request limits of keys and people. Null if the defaults of the gateway apply.',
  })
  plan!: Plan | null;

  @Field(() => DateTime, { description: 'When the account was created.' })
  createdAt!: Date;

  @Field(() => String, {
    nullable: true,
    description: "The owner's one-time password. Null except in the answer of `createAccount`.",
  })
  ownerPassword?: string;
}

@ObjectType('LedgerEntry', {
  description: 'One change of the balance. Entries never change.',
  simpleResolvers: true,
})
export class LedgerEntryType {
  @Field(() => Float, {
    description: 'Number of the entry within the account: a whole number, from 1, without gaps.',
  })
  seq!: number;

  @Field(() => LedgerEntryKindEnum, { description: 'The cause of the entry.' })
  kind!: LedgerEntryKind;

  @Field(() => ID, { nullable: true, description: 'Identifier of the message that was charged or refunded.' })
  messageId!: string | null;

  @Field(() => String, { nullable: true, description: 'The reference of a top-up.' })
  reference!: string | null;

  @Field(() => DateTime, { description: 'When the balance changed.' })
  createdAt!: Date;
}

/** A ledger entry with the currency of its account. */
export type ShownEntry = LedgerEntry & { readonly currency: string };

@InputType({ description: 'A new account.' })
class CreateAccountInput {
  @InputField(() => String, { description: 'Email address of the account. Its owner signs in with it.' })
  email!: string;

  @InputField(() => String, { description: 'Currency (ISO 4217), such as `UGX`.' })
  currency!: string;

  @InputField(() => String, { nullable: true, description: 'Name. Default: the email address.' })
  name?: string | null;

  @InputField(() => Float, { nullable: true, description: 'Opening balance in the currency. Default: 0.' })
  balance?: number | null;
}

const AccountConnection = connectionOf('Account', () => AccountType);
const LedgerConnection = connectionOf('LedgerEntry', () => LedgerEntryType);

@Resolver(() => AccountType)
export class AccountResolver {
  @Query(() => AccountType, {
    nullable: true,
    description:
      "Your own account. Operators: any account. What they read in its lists is recorded in the account's audit log.",
  })
  async account(
    @Ctx() context: GraphqlContext,
    @Info() { path }: GraphQLResolveInfo,
    @Arg('id', () => ID, {
      nullable: true,
      description: 'The account. Default: your own. Required for operators.',
    })
    id?: string | null,
    @Arg('reason', () => String, {
      nullable: true,
      description:
        'For operators: why the texts of messages are needed. Default: none, and texts are empty. The audit log keeps it.',
    })
    reason?: string | null,
  ) {
    const account = await context.run(context.operations.accounts.find, { id });
    if (sessionOf(context).caller.kind === 'operator') {
      const input = { accountId: account.id, reason: reason ?? undefined };
      context.inspections.set(path.key, inspectingContext(context, input));
    }
    return account;
  }

  @Query(() => AccountConnection, {
    nullable: true,
    description: 'All accounts. For operators.',
    cost: {
      each: (args) => weighing('search', 50)(args) + (args.orderBy === 'balance' ? 50 : 0),
      total: weighing('search', 200, 10),
    },
  })
  async accounts(
    @Ctx() { run, operations }: GraphqlContext,
    @Args(() => SliceArgs) slice: SliceArgs,
    @Arg('search', () => String, {
      nullable: true,
      description: 'Part of the name or the email address, or the whole id of a key of the account.',
    })
    search?: string | null,
    @Arg('orderBy', () => AccountOrderEnum, {
      nullable: true,
      description:
        'Order of the accounts. Default: `NEWEST`. Balances change: by balance, an account may be on two pages or on none.',
    })
    orderBy?: AccountOrder | null,
  ) {
    return connection(await run(operations.accounts.list, { ...slice, search, orderBy }));
  }

  @Mutation(() => AccountType, {
    description: 'Creates an account and its owner. For operators.',
    canDryRun: true,
    errors: [],
  })
  async createAccount(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('input', () => CreateAccountInput, { description: 'The account.' }) input: CreateAccountInput,
  ) {
    const created = await run(operations.accounts.create, given(input));
    return { ...created.account, ownerPassword: created.owner.password };
  }

  @Mutation(() => AccountType, {
    description:
      'Adds to a balance. Repeating a payment with the same reference and amount changes nothing; another amount under the same reference is refused. For operators.',
    canDryRun: true,
    errors: ['not_found', 'step_up_required'],
  })
  topUpAccount(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('accountId', () => ID, { description: 'The account.' }) accountId: string,
    @Arg('amount', () => Float, { description: "Amount to add, in the account's currency." }) amount: number,
    @Arg('reference', () => String, {
      nullable: true,
      description: 'Unique name of the payment, such as its number at the bank.',
    })
    reference?: string | null,
  ) {
    return run(operations.accounts.topUp, { accountId, amount, reference: reference ?? undefined });
  }

  @Mutation(() => AccountType, {
    description: 'Puts an account on a plan. For operators.',
    canDryRun: true,
    errors: ['not_found', 'step_up_required'],
  })
  setAccountPlan(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('accountId', () => ID, { description: 'The account.' }) accountId: string,
    @Arg('plan', () => String, {
      nullable: true,
      description: 'Name of the plan. Default: no plan, so that the defaults of the gateway apply.',
    })
    plan?: string | null,
  ) {
    return run(operations.plans.assign, { accountId, plan: plan ?? null });
  }

  @Mutation(() => RetentionType, {
    description:
      'Sets how long messages are kept. What is deleted cannot be restored. For owners and operators.',
    canDryRun: true,
    errors: ['not_found', 'step_up_required'],
  })
  setRetention(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('accountId', () => ID, { nullable: true, description: 'The account. Default: your own.' })
    accountId?: string | null,
    @Arg('contentDays', () => Int, {
      nullable: true,
      description: 'Days to keep texts. Default: forever.',
    })
    contentDays?: number | null,
    @Arg('messageDays', () => Int, {
      nullable: true,
      description: 'Days to keep messages. Default: forever.',
    })
    messageDays?: number | null,
  ) {
    const days = { contentDays: contentDays ?? null, messageDays: messageDays ?? null };
    return run(operations.accounts.setRetention, { accountId, ...days });
  }

  @FieldResolver(() => Float, { description: 'Balance in the currency of the account.' })
  balance(@Root() account: Account): number {
    return fromMinor(account.balanceMinor, account.currency);
  }

  @FieldResolver(() => [AccountTroubleEnum], {
    nullable: true,
    description:
      'For operators: why somebody should look at the account, the worst first, as in `troubledAccounts`. Null for members.',
    cost: { each: () => 4 },
  })
  async troubles(
    @Root() { id }: Account,
    @Ctx() context: GraphqlContext,
  ): Promise<readonly AccountTrouble[] | null> {
    if (sessionOf(context).caller.kind !== 'operator') return null;
    return context.loaders.troubles.load(id);
  }

  @FieldResolver(() => Money, { description: 'The same balance, exact.' })
  balanceMoney(@Root() account: Account): Money {
    return moneyOf(account.balanceMinor, account.currency);
  }
}

@Resolver(() => LedgerEntryType)
export class LedgerResolver {
  @Query(() => LedgerConnection, {
    nullable: true,
    description: "Changes of the account's balance, newest first.",
  })
  async ledger(
    @Ctx() { run, operations }: GraphqlContext,
    @Args(() => TwoWaySliceArgs) slice: TwoWaySliceArgs,
    @Arg('from', () => DateTime, { nullable: true, description: 'Earliest time, inclusive.' })
    from?: Date | null,
    @Arg('to', () => DateTime, { nullable: true, description: 'Latest time, inclusive.' })
    to?: Date | null,
  ) {
    const filter = { from: from ?? undefined, to: to ?? undefined };
    const shown = connection(await run(operations.accounts.ledger, { ...slice, filter }));
    const { currency } = await run(operations.accounts.find, {});
    const edges = shown.edges.map((edge) => ({ ...edge, node: { ...edge.node, currency } }));
    return { ...shown, edges, nodes: edges.map((edge) => edge.node) };
  }

  @FieldResolver(() => Float, {
    description: "Amount added, in the account's currency. Negative for a charge.",
  })
  amount(@Root() entry: ShownEntry): number {
    return fromMinor(entry.amountMinor, entry.currency);
  }

  @FieldResolver(() => Money, { description: 'The same amount, exact.' })
  amountMoney(@Root() entry: ShownEntry): Money {
    return moneyOf(entry.amountMinor, entry.currency);
  }

  @FieldResolver(() => Float, { description: "Balance after the entry, in the account's currency." })
  balanceAfter(@Root() entry: ShownEntry): number {
    return fromMinor(entry.balanceAfterMinor, entry.currency);
  }

  @FieldResolver(() => Money, { description: 'The same balance, exact.' })
  balanceAfterMoney(@Root() entry: ShownEntry): Money {
    return moneyOf(entry.balanceAfterMinor, entry.currency);
  }
}
