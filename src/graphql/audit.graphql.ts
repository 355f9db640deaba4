import { GraphQLJSONObject } from 'graphql-scalars';
import { Arg, Args, Ctx, Field, ID, InputType, ObjectType, Query, Resolver } from 'type-graphql';
import { connection, connectionOf } from './connection.ts';
import type { GraphqlContext } from './context.ts';
import { given } from './given.ts';
import { DateTime } from './scalars.ts';
import { SliceArgs } from './slice-args.ts';

@ObjectType('AuditEntry', {
  description:
    'One change: who, what, before and after. Or a sign-in, a failed one, a lockout, or a key used outside its allowlist: the first from each address in 15 minutes, and then how many there were.',
  simpleResolvers: true,
})
class AuditEntryType {
  @Field(() => ID, { description: 'Identifier of the entry.' })
  id!: string;

  @Field(() => ID, { nullable: true, description: 'The account; null for changes of the platform.' })
  accountId!: string | null;

  @Field(() => DateTime, { description: 'When.' })
  at!: Date;

  @Field(() => String, { description: 'Who, as `user:…`, `key:…` or `system:…`.' })
  actor!: string;

  @Field(() => String, { description: 'What was done, such as `apiKey.create`.' })
  action!: string;

  @Field(() => String, { description: 'What it was done to.' })
  target!: string;

  @Field(() => GraphQLJSONObject, { nullable: true, description: 'What changed, as it was.' })
  before!: Readonly<Record<string, unknown>> | null;

  @Field(() => GraphQLJSONObject, { nullable: true, description: 'What changed, as it became.' })
  after!: Readonly<Record<string, unknown>> | null;
}

@InputType({ description: 'Which entries to show; every member given must hold.' })
class AuditLogFilter {
  @Field(() => String, { nullable: true, description: 'With this action.' })
  action?: string | null;

  @Field(() => String, { nullable: true, description: 'By this actor.' })
  actor?: string | null;

  @Field(() => String, { nullable: true, description: 'On this target.' })
  target?: string | null;

  @Field(() => DateTime, { nullable: true, description: 'At this time or later.' })
  from?: Date | null;

  @Field(() => DateTime, { nullable: true, description: 'At this time or earlier.' })
  to?: Date | null;
}

const AuditConnection = connectionOf('AuditEntry', () => AuditEntryType);

@Resolver()
export class AuditResolver {
  @Query(() => AuditConnection, {
    nullable: true,
    description: "The account's changes, the newest first; an operator sees those of all accounts.",
  })
  async auditLog(
    @Ctx() { run, operations }: GraphqlContext,
    @Args(() => SliceArgs) slice: SliceArgs,
    @Arg('filter', () => AuditLogFilter, { nullable: true, description: 'Which ones; all when absent.' })
    filter?: AuditLogFilter | null,
  ) {
    return connection(await run(operations.audit.list, { ...slice, filter: given(filter) }));
  }
}
