import { Args, Ctx, ID, InputType, Int, ObjectType, Resolver } from 'type-graphql';
import type { Environment } from '../domain/caller.ts';
import type {
  SuppressedChannel,
  SuppressionScope,
  SuppressionSource,
} from '../domain/suppressions/suppression.ts';
import { SUPPRESSION_FILE_MAX_ROWS } from '../domain/suppressions/suppression-file.ts';
import { connection, connectionOf } from './connection.ts';
import type { GraphqlContext } from './context.ts';
import {
  EnvironmentEnum,
  SuppressedChannelEnum,
  SuppressionScopeEnum,
  SuppressionSourceEnum,
} from './enums.ts';
import { given } from './given.ts';
import { DateTime } from './scalars.ts';
import { SliceArgs } from './slice-args.ts';
import { Arg, Field, InputField, Mutation, Query } from './typed.ts';

@ObjectType('Suppression', {
  description: 'An address to which the account must not send on a channel.',
  simpleResolvers: true,
})
class SuppressionType {
  @Field(() => ID, { description: 'Identifier of the suppression.' })
  id!: string;

  @Field(() => EnvironmentEnum, { description: 'Environment in which it holds.' })
  environment!: Environment;

  @Field(() => SuppressedChannelEnum, { description: 'Channel on which it holds.' })
  channel!: SuppressedChannel;

  @Field(() => String, { description: 'A phone number in E.164, or an email address in lower case.' })
  address!: string;

  @Field(() => SuppressionScopeEnum, { description: 'The messages that are left out.' })
  scope!: SuppressionScope;

  @Field(() => SuppressionSourceEnum, { description: 'Who asked for it.' })
  source!: SuppressionSource;

  @Field(() => String, { nullable: true, description: 'Why, in words.' })
  reason!: string | null;

  @Field(() => DateTime, { description: 'Since when.' })
  createdAt!: Date;
}

@InputType({ description: 'An address to suppress. A suppressed address gets the new scope and reason.' })
class SuppressInput {
  @InputField(() => SuppressedChannelEnum, { description: 'Channel.' })
  channel!: SuppressedChannel;

  @InputField(() => String, { description: 'A phone number or an email address.' })
  address!: string;

  @InputField(() => SuppressionScopeEnum, { description: 'The messages to leave out.' })
  scope!: SuppressionScope;

  @InputField(() => String, { nullable: true, description: 'Why, at most 200 characters.' })
  reason?: string | null;

  @InputField(() => EnvironmentEnum, { nullable: true, description: 'Environment. Default: PRODUCTION.' })
  environment?: Environment | null;
}

@ObjectType('SuppressionImport', {
  description: 'What an import of suppressions changed.',
  simpleResolvers: true,
})
class SuppressionImportType {
  @Field(() => Int, { description: 'Rows of the file.' })
  rows!: number;

  @Field(() => Int, { description: 'Addresses that are suppressed now, or more widely than before.' })
  changed!: number;

  @Field(() => Int, { description: 'Addresses that were suppressed at least as widely before.' })
  unchanged!: number;
}

@ObjectType('SuppressionExport', {
  description: 'A part of an export of suppressions. The parts one after the other are the file.',
  simpleResolvers: true,
})
class SuppressionExportType {
  @Field(() => String, { description: 'Lines of the file. Only the first part names the columns.' })
  csv!: string;

  @Field(() => String, { nullable: true, description: 'Where the next part begins. Null in the last part.' })
  nextAfter!: string | null;
}

const SuppressionConnection = connectionOf('Suppression', () => SuppressionType);

/** Addresses that must be left alone (R377). */
@Resolver(() => SuppressionType)
export class SuppressionResolver {
  @Query(() => SuppressionConnection, {
    nullable: true,
    description: 'Suppressed addresses of one environment, newest first.',
  })
  async suppressions(
    @Ctx() { run, operations }: GraphqlContext,
    @Args(() => SliceArgs) slice: SliceArgs,
    @Arg('channel', () => SuppressedChannelEnum, { nullable: true, description: 'Channel. Default: all.' })
    channel?: SuppressedChannel | null,
    @Arg('address', () => String, { nullable: true, description: 'A phone number or an email address.' })
    address?: string | null,
    @Arg('environment', () => EnvironmentEnum, {
      nullable: true,
      description: 'Environment. Default: PRODUCTION.',
    })
    environment?: Environment | null,
  ) {
    const filter = { channel: channel ?? undefined, address: address ?? undefined };
    const input = { ...slice, ...filter, environment: environment ?? undefined };
    return connection(await run(operations.suppressions.slice, input));
  }

  @Mutation(() => SuppressionType, { description: 'Suppresses an address.', errors: [] })
  suppress(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('input', () => SuppressInput, { description: 'The address.' }) input: SuppressInput,
  ) {
    const { reason, environment } = given(input);
    return run(operations.suppressions.add, { ...input, reason, environment });
  }

  @Mutation(() => SuppressionImportType, {
    description: `Suppresses the addresses in a CSV file with the columns channel, address, scope and reason: all rows or none. At most ${SUPPRESSION_FILE_MAX_ROWS} rows.`,
    canDryRun: true,
    errors: [],
  })
  importSuppressions(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('csv', () => String, { description: 'Text of the file. The first line names the columns.' })
    csv: string,
    @Arg('environment', () => EnvironmentEnum, {
      nullable: true,
      description: 'Environment. Default: PRODUCTION.',
    })
    environment?: Environment | null,
  ) {
    return run(operations.suppressions.importFile, { csv, environment: environment ?? undefined });
  }

  @Mutation(() => SuppressionExportType, {
    description:
      'Returns a part of all suppressions as CSV, newest first. The first part is recorded in the audit log.',
    errors: ['step_up_required'],
  })
  exportSuppressions(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('after', () => String, { nullable: true, description: 'The `nextAfter` of the part before.' })
    after?: string | null,
    @Arg('environment', () => EnvironmentEnum, {
      nullable: true,
      description: 'Environment. Default: PRODUCTION.',
    })
    environment?: Environment | null,
  ) {
    const input = { after: after ?? undefined, environment: environment ?? undefined };
    return run(operations.suppressions.exportFile, input);
  }

  @Mutation(() => Boolean, {
    description: 'Removes a suppression: the address gets messages again.',
    errors: ['not_found'],
  })
  async removeSuppression(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('id', () => ID, { description: 'The suppression.' }) id: string,
  ) {
    await run(operations.suppressions.remove, { id });
    return true;
  }
}
