import { Args, Ctx, ID, InputType, ObjectType, Resolver, Root } from 'type-graphql';
import { type AuditEntry, type AuditTargetKind, targetKindOf } from '../domain/audit/audit-entry.ts';
import { type AuditExportFormat, exportCsv } from '../domain/audit/audit-export.ts';
import { AccountType } from './account.graphql.ts';
import { connection, connectionOf } from './connection.ts';
import type { GraphqlContext } from './context.ts';
import { weighingFilter } from './cost.ts';
import { AuditExportFormatEnum, AuditTargetTypeEnum } from './enums.ts';
import { given } from './given.ts';
import { Node, nodeOf } from './node.graphql.ts';
import { DateTime, JsonObject } from './scalars.ts';
import { TwoWaySliceArgs } from './slice-args.ts';
import { Arg, Field, FieldResolver, InputField, Query } from './typed.ts';

@ObjectType('AuditEntry', {
  implements: Node,
  description:
    'One change; or a sign-in, a failed sign-in, a lockout, or a key used outside its allowlist. Of the latter, the log has the first from each address in 15 minutes, then their number.',
  simpleResolvers: true,
})
export class AuditEntryType {
  @Field(() => ID, { description: 'Identifier of the entry.' })
  id!: string;

  @Field(() => ID, { nullable: true, description: 'The account. Null for changes of the platform.' })
  accountId!: string | null;

  @Field(() => DateTime, { description: 'When it happened.' })
  at!: Date;

  @Field(() => String, { description: 'What was done, such as `apiKey.create`.' })
  action!: string;

  @Field(() => JsonObject, { nullable: true, description: 'The changed values before.' })
  before!: Readonly<Record<string, unknown>> | null;

  @Field(() => JsonObject, { nullable: true, description: 'The changed values after.' })
  after!: Readonly<Record<string, unknown>> | null;
}

@ObjectType({ description: 'What an audit entry is about.', simpleResolvers: true })
class AuditTarget {
  @Field(() => AuditTargetTypeEnum, { description: 'Type of the target.' })
  type!: AuditTargetKind;

  @Field(() => String, { description: 'Identifier or name of the target, as the filter takes it.' })
  id!: string;
}

@InputType({ description: 'Conditions on audit entries. All that are given must hold.' })
class AuditLogFilter {
  @InputField(() => String, { nullable: true, description: 'The action.' })
  action?: string | null;

  @InputField(() => String, {
    nullable: true,
    description: 'The actor: `user:…`, `key:…` or `system:…`, or the email address of a person.',
  })
  actor?: string | null;

  @InputField(() => String, {
    nullable: true,
    description: 'The identifier of the target, or the email address of a person.',
  })
  target?: string | null;

  @InputField(() => String, {
    nullable: true,
    description:
      'For operators: the account, by its identifier, its email address, or a part of its name that no other account has.',
  })
  account?: string | null;

  @InputField(() => DateTime, { nullable: true, description: 'Earliest time, inclusive.' })
  from?: Date | null;

  @InputField(() => DateTime, { nullable: true, description: 'Latest time, inclusive.' })
  to?: Date | null;
}

const FILTERS = ['action', 'actor', 'target', 'account'];
const AuditConnection = connectionOf('AuditEntry', () => AuditEntryType);

@Resolver(() => AuditEntryType)
export class AuditResolver {
  @Query(() => AuditConnection, {
    nullable: true,
    description: "The account's audit log, newest first. Operators see all accounts.",
    cost: {
      each: weighingFilter(FILTERS, 20, 0),
      total: weighingFilter(FILTERS, 100, 10),
    },
  })
  async auditLog(
    @Ctx() { run, operations }: GraphqlContext,
    @Args(() => TwoWaySliceArgs) slice: TwoWaySliceArgs,
    @Arg('filter', () => AuditLogFilter, { nullable: true, description: 'Default: all.' })
    filter?: AuditLogFilter | null,
  ) {
    return connection(await run(operations.audit.list, { ...slice, filter: given(filter) }));
  }

  @FieldResolver(() => AuditTarget, { description: 'What was changed.' })
  target(@Root() entry: AuditEntry): AuditTarget {
    return { type: targetKindOf(entry), id: entry.target };
  }

  @FieldResolver(() => AccountType, {
    nullable: true,
    description: 'The account itself. Null for changes of the platform.',
  })
  account(@Root() { accountId }: AuditEntry, @Ctx() { loaders }: GraphqlContext) {
    return accountId === null ? null : loaders.account.load(accountId);
  }

  @FieldResolver(() => String, {
    nullable: true,
    description:
      'The entry as a line of an export, with its place and hashes in the chain. For owners and operators. The CSV has the columns seq, id, accountId, at, actor, action, target, before, after, previousHash, hash.',
    cost: { each: () => 2 },
  })
  async exportLine(
    @Root() { id }: AuditEntry,
    @Ctx() { loaders }: GraphqlContext,
    @Arg('format', () => AuditExportFormatEnum, { description: 'Its form.' }) format: AuditExportFormat,
  ) {
    const line = await loaders.auditLine.load(id);
    return line !== undefined && format === 'csv' ? exportCsv(line) : (line ?? null);
  }
}

@Resolver(() => AuditTarget)
export class AuditTargetResolver {
  @FieldResolver(() => String, {
    nullable: true,
    description:
      'What people call the target: the email address of a person, the name of a key, a sender or an account, or the URL of a webhook. Also of what is removed. Null if it has none.',
  })
  name(@Root() { id }: AuditTarget, @Ctx() { loaders }: GraphqlContext) {
    return loaders.targetName.load(id);
  }

  @FieldResolver(() => Node, {
    nullable: true,
    description: 'The target itself. Null if it is gone, if you may not see it, or if it has no identifier.',
  })
  async node(@Root() { id }: AuditTarget, @Ctx() { loaders }: GraphqlContext) {
    return nodeOf(await loaders.object.load(id));
  }
}
