import { Args, Ctx, ID, Int, ObjectType, Resolver, Root } from 'type-graphql';
import type { Environment } from '../domain/caller.ts';
import {
  type ContactImport,
  IMPORT_MAX_BYTES,
  IMPORT_MAX_ROWS,
  type ImportProgress,
  type ImportState,
  type RowFault,
  type RowFaultCode,
} from '../domain/contacts/contact-import.ts';
import { connection, connectionOf } from './connection.ts';
import type { GraphqlContext } from './context.ts';
import { EnvironmentEnum, ImportErrorCodeEnum, ImportStateEnum } from './enums.ts';
import { Node } from './node.graphql.ts';
import { DateTime } from './scalars.ts';
import { SliceArgs } from './slice-args.ts';
import { Arg, Field, FieldResolver, Mutation, Query } from './typed.ts';

@ObjectType('ImportProgress', {
  description: 'The rows of an import and their results so far.',
  simpleResolvers: true,
})
class ImportProgressType implements ImportProgress {
  @Field(() => Int, {
    description: 'Rows of the file, without the header and empty rows.',
  })
  rowsTotal!: number;

  @Field(() => Int, { description: 'Rows processed: created, updated or failed.' })
  rowsDone!: number;

  @Field(() => Int, { description: 'Rows that created a contact.' })
  created!: number;

  @Field(() => Int, { description: 'Rows that updated a contact, or found it unchanged.' })
  updated!: number;

  @Field(() => Int, { description: 'Rows that were refused; `errors` has the reasons.' })
  failed!: number;
}

@ObjectType('ContactImportError', { description: 'One fault of a row.', simpleResolvers: true })
class ContactImportErrorType {
  @Field(() => String, {
    nullable: true,
    description: 'Header of the column. Null if the whole row is at fault.',
  })
  column!: string | null;

  @Field(() => String, { nullable: true, description: 'Value of the column, at most 100 characters of it.' })
  value!: string | null;

  @Field(() => String, { description: 'What is wrong, and what would be right.' })
  message!: string;
}

@ObjectType('ContactImport', {
  implements: Node,
  description: 'An import of contacts. It is deleted 30 days after its end; the contacts stay.',
  simpleResolvers: true,
})
export class ContactImportType {
  @Field(() => ID, { description: 'Identifier of the import.' })
  id!: string;

  @Field(() => EnvironmentEnum, { description: 'Environment of the contacts.' })
  environment!: Environment;

  @Field(() => ImportStateEnum, { description: 'State of the import.' })
  state!: ImportState;

  @Field(() => ImportProgressType, { description: 'Results so far.' })
  progress!: ImportProgress;

  @Field(() => String, { nullable: true, description: 'Why the import ended before its last row.' })
  failure!: string | null;

  @Field(() => DateTime, { description: 'When it was started.' })
  createdAt!: Date;

  @Field(() => DateTime, { nullable: true, description: 'When it ended.' })
  finishedAt!: Date | null;
}

/**
 * Number of characters of a CSV that cost one point. Reading them takes 0.3 to 0.5 ms of the process before the answer,
 * and as much again while they are imported.
 */
const CHARACTERS_A_POINT = 2_000;
/** Returns the points of an import. They grow with the text, because the whole text is read before the answer (R587). */
const pointsOf = ({ csv }: Readonly<Record<string, unknown>>) =>
  typeof csv === 'string' ? Math.ceil(csv.length / CHARACTERS_A_POINT) : 0;

const ContactImportConnection = connectionOf('ContactImport', () => ContactImportType);
const ContactImportErrorConnection = connectionOf('ContactImportError', () => ContactImportErrorType);

@Resolver(() => ContactImportType)
export class ContactImportResolver {
  @Mutation(() => ContactImportType, {
    description: [
      'Creates and updates contacts from a CSV file. Returns at once; follow `contactImport`.',
      'The first row names the columns: name, phone, email, externalId, tags (separated by `;` or `|`). Any other',
      'column is an attribute; the prefix `attributes.` is optional. A row updates the contact with its phone or',
      'externalId, or without both the contact with its email; otherwise it creates one. Empty cells change nothing.',
      'A second row about the same contact is reported and changes nothing. With `dryRun` the rows are imported before the answer, for at most a second, and then undone.',
    ].join(' '),
    canDryRun: 'long',
    cost: { each: pointsOf },
    errors: ['rate_limit_exceeded', 'payload_too_large'],
  })
  async importContacts(
    @Ctx() { run, operations, dryRun }: GraphqlContext,
    @Arg('csv', () => String, {
      description: `Text of the file, delimited by commas, semicolons or tabs. At most ${IMPORT_MAX_ROWS} rows and ${IMPORT_MAX_BYTES} bytes.`,
    })
    csv: string,
    @Arg('environment', () => EnvironmentEnum, {
      nullable: true,
      description: 'Environment of the contacts. Default: PRODUCTION.',
    })
    environment?: Environment | null,
  ) {
    const started = await run(operations.contactImports.start, {
      csv,
      environment: environment ?? undefined,
    });
    // A dry run imports the rows before the mutation returns. So read the import again to get its result.
    return dryRun.isOpen ? run(operations.contactImports.find, { id: started.id }) : started;
  }

  @Query(() => ContactImportType, { nullable: true, description: 'One import of contacts.' })
  contactImport(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('id', () => ID, { description: 'The import.' }) id: string,
  ) {
    return run(operations.contactImports.find, { id });
  }

  @Query(() => ContactImportConnection, {
    nullable: true,
    description: "The account's imports of the last 30 days in one environment, newest first.",
  })
  async contactImports(
    @Ctx() { run, operations }: GraphqlContext,
    @Args(() => SliceArgs) slice: SliceArgs,
    @Arg('environment', () => EnvironmentEnum, {
      nullable: true,
      description: 'Environment of the contacts. Default: PRODUCTION.',
    })
    environment?: Environment | null,
  ) {
    return connection(
      await run(operations.contactImports.list, { ...slice, environment: environment ?? undefined }),
    );
  }

  @FieldResolver(() => ContactImportErrorConnection, {
    description: 'Faults of the rows that failed, in the order of the rows.',
    cost: { isOfDryRun: true },
  })
  async errors(
    @Root() one: ContactImport,
    @Ctx() { loaders }: GraphqlContext,
    @Args(() => SliceArgs) { first, after }: SliceArgs,
  ) {
    return connection(await loaders.importFaults.load({ of: one, slice: { first, after } }));
  }
}

@Resolver(() => ContactImportErrorType)
export class ContactImportErrorResolver {
  @FieldResolver(() => Int, { description: 'Line of the file where the row begins, from 1.' })
  row(@Root() fault: RowFault): number {
    return fault.line;
  }

  @FieldResolver(() => ImportErrorCodeEnum, { description: 'Kind of the fault.' })
  code(@Root() fault: RowFault): RowFaultCode {
    return fault.code;
  }
}
