import {
  Arg,
  Args,
  Ctx,
  Field,
  FieldResolver,
  Float,
  ID,
  InputType,
  Int,
  Mutation,
  ObjectType,
  Query,
  Resolver,
  Root,
} from 'type-graphql';
import type { Account, LedgerEntry, Plan, RetentionDays } from '../domain/accounts/account.ts';
import { fromMinor } from '../domain/money/money.ts';
import { connection, connectionOf } from './connection.ts';
import type { GraphqlContext } from './context.ts';
import { given } from './given.ts';
import { PlanType } from './plan.graphql.ts';
import { DateTime } from './scalars.ts';
import { SliceArgs } from './slice-args.ts';

@ObjectType('Retention', {
  description:
    'For how many days, counted from its acceptance, an account keeps a message. Null is for ever.',
  simpleResolvers: true,
})
class RetentionType {
  @Field(() => Int, { nullable: true, description: 'Days until the text of a message is erased.' })
  contentDays!: number | null;

  @Field(() => Int, {
    nullable: true,
    description: 'Days until a message is deleted; its ledger entries stay.',
  })
  messageDays!: number | null;
}

@ObjectType('Account', {
  description: 'Owns keys, messages, webhooks and a balance, which always equals the sum of its ledger.',
  simpleResolvers: true,
})
export class AccountType {
  @Field(() => ID, { description: 'Identifier of the account.' })
  id!: string;

  @Field(() => String, { description: 'Name of the account.' })
  name!: string;

  @Field(() => String, { description: 'Email address of the account.' })
  email!: string;

  @Field(() => String, { description: 'Currency of the balance, ISO 4217.' })
  currency!: string;

  @Field(() => RetentionType, { description: 'How long messages are kept.' })
  retention!: RetentionDays;

  @Field(() => PlanType, {
    nullable: true,
    description: 'How many requests keys may make; null where the limits of the platform hold.',
  })
  plan!: Plan | null;

  @Field(() => DateTime, { description: 'When the account was created.' })
  createdAt!: Date;

  @Field(() => String, {
    nullable: true,
    description: "The owner's one-time password; only in the answer of createAccount, null everywhere else.",
  })
  ownerPassword?: string;
}

@ObjectType('LedgerEntry', {
  description: 'One movement of the balance. Entries are never changed.',
  simpleResolvers: true,
})
class LedgerEntryType {
  @Field(() => Int, { description: 'Number of the entry within the account, from 1, without gaps.' })
  seq!: number;

  @Field(() => String, { description: 'Cause: `opening`, `topup`, `charge` or `refund`.' })
  kind!: string;

  @Field(() => ID, { nullable: true, description: 'The message that was charged or refunded.' })
  messageId!: string | null;

  @Field(() => String, { nullable: true, description: 'The reference of a top-up.' })
  reference!: string | null;

  @Field(() => String, {
    nullable: true,
    description: 'Who made the entry, as `user:…`, `key:…` or `system:…`.',
  })
  actor!: string | null;

  @Field(() => DateTime, { description: 'When the balance moved.' })
  createdAt!: Date;
}

/** A ledger entry with the currency that its amounts are shown in. */
type ShownEntry = LedgerEntry & { readonly currency: string };

@InputType({ description: 'A new account.' })
class CreateAccountInput {
  @Field(() => String, { description: 'Email address of the account and sign-in of its owner.' })
  email!: string;

  @Field(() => String, { description: 'Currency, ISO 4217, such as `UGX`.' })
  currency!: string;

  @Field(() => String, { nullable: true, description: 'Name; the email address when absent.' })
  name?: string | null;

  @Field(() => Float, { nullable: true, description: 'Opening balance in the currency; 0 when absent.' })
  balance?: number | null;
}

const AccountConnection = connectionOf('Account', () => AccountType);
const LedgerConnection = connectionOf('LedgerEntry', () => LedgerEntryType);

@Resolver(() => AccountType)
export class AccountResolver {
  @Query(() => AccountType, {
    nullable: true,
    description: "The caller's own account, or for an operator any one.",
  })
  account(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('id', () => ID, { nullable: true, description: 'The account; the own one when absent.' }) id?:
      | string
      | null,
  ) {
    return run(operations.accounts.find, { id });
  }

  @Query(() => AccountConnection, {
    nullable: true,
    description: 'All accounts, the newest first. For operators.',
  })
  async accounts(
    @Ctx() { run, operations }: GraphqlContext,
    @Args(() => SliceArgs) slice: SliceArgs,
    @Arg('search', () => String, { nullable: true, description: 'Part of the name or the email address.' })
    search?: string | null,
  ) {
    return connection(await run(operations.accounts.list, { ...slice, search }));
  }

  @Mutation(() => AccountType, { description: 'Creates an account with its owner. For operators.' })
  async createAccount(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('input', () => CreateAccountInput, { description: 'The account.' }) input: CreateAccountInput,
  ) {
    const created = await run(operations.accounts.create, given(input));
    return { ...created.account, ownerPassword: created.owner.password };
  }

  @Mutation(() => AccountType, {
    description:
      'Adds to a balance; the same payment again changes nothing, and another amount under its reference is refused. For operators.',
  })
  topUpAccount(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('accountId', () => ID, { description: 'The account.' }) accountId: string,
    @Arg('amount', () => Float, { description: "What to add, in the account's currency." }) amount: number,
    @Arg('reference', () => String, { nullable: true, description: 'Names the payment.' }) reference?:
      | string
      | null,
  ) {
    return run(operations.accounts.topUp, { accountId, amount, reference: reference ?? undefined });
  }

  @Mutation(() => AccountType, { description: 'Puts an account on a plan. For operators.' })
  setAccountPlan(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('accountId', () => ID, { description: 'The account.' }) accountId: string,
    @Arg('plan', () => String, {
      nullable: true,
      description: 'Name of the plan; none when absent, so that the limits of the platform hold.',
    })
    plan?: string | null,
  ) {
    return run(operations.plans.assign, { accountId, plan: plan ?? null });
  }

  @Mutation(() => RetentionType, {
    description:
      'Says how long messages are kept. What is forgotten cannot be had back. For owners and operators.',
  })
  setRetention(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('accountId', () => ID, { nullable: true, description: 'The account; the own one when absent.' })
    accountId?: string | null,
    @Arg('contentDays', () => Int, {
      nullable: true,
      description: 'Days to keep texts; for ever when absent.',
    })
    contentDays?: number | null,
    @Arg('messageDays', () => Int, {
      nullable: true,
      description: 'Days to keep messages; for ever when absent.',
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
}

@Resolver(() => LedgerEntryType)
export class LedgerResolver {
  @Query(() => LedgerConnection, {
    nullable: true,
    description: "What moved the account's balance, the newest first.",
  })
  async ledger(
    @Ctx() { run, operations }: GraphqlContext,
    @Args(() => SliceArgs) slice: SliceArgs,
    @Arg('from', () => DateTime, { nullable: true, description: 'Only what moved it then or later.' })
    from?: Date | null,
    @Arg('to', () => DateTime, { nullable: true, description: 'Only what moved it then or before.' })
    to?: Date | null,
  ) {
    const filter = { from: from ?? undefined, to: to ?? undefined };
    const shown = connection(await run(operations.accounts.ledger, { ...slice, filter }));
    const { currency } = await run(operations.accounts.find, {});
    const edges = shown.edges.map((edge) => ({ ...edge, node: { ...edge.node, currency } }));
    return { ...shown, edges, nodes: edges.map((edge) => edge.node) };
  }

  @FieldResolver(() => Float, {
    description: "What was added, negative for a charge, in the account's currency.",
  })
  amount(@Root() entry: ShownEntry): number {
    return fromMinor(entry.amountMinor, entry.currency);
  }

  @FieldResolver(() => Float, { description: "The balance after it, in the account's currency." })
  balanceAfter(@Root() entry: ShownEntry): number {
    return fromMinor(entry.balanceAfterMinor, entry.currency);
  }
}
