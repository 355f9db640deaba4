import {
  Arg,
  Args,
  Ctx,
  Field,
  FieldResolver,
  ID,
  Int,
  Mutation,
  ObjectType,
  Query,
  Resolver,
  Root,
} from 'type-graphql';
import type { Environment } from '../domain/caller.ts';
import {
  type ContactImport,
  IMPORT_MAX_BYTES,
  IMPORT_MAX_ROWS,
  type ImportProgress,
  type ImportState,
  type RowFault,
} from '../domain/contacts/contact-import.ts';
import { connection, connectionOf } from './connection.ts';
import type { GraphqlContext } from './context.ts';
import { EnvironmentEnum, ImportStateEnum } from './enums.ts';
import { codeOf } from './error-format.ts';
import { DateTime } from './scalars.ts';
import { SliceArgs } from './slice-args.ts';

@ObjectType('ImportProgress', {
  description: 'How many rows an import has, and what became of them.',
  simpleResolvers: true,
})
class ImportProgressType {
  @Field(() => Int, {
    description: 'Rows of the file without its header; rows with nothing in them are none.',
  })
  rowsTotal!: number;

  @Field(() => Int, { description: 'Rows that are created, updated or failed.' })
  rowsDone!: number;

  @Field(() => Int, { description: 'Rows that added a contact.' })
  created!: number;

  @Field(() => Int, { description: 'Rows that changed a contact, or found it as it was.' })
  updated!: number;

  @Field(() => Int, { description: 'Rows that changed nothing; `errors` tells why.' })
  failed!: number;
}

@ObjectType('ContactImportError', { description: 'What is wrong with a row.', simpleResolvers: true })
class ContactImportErrorType {
  @Field(() => String, { nullable: true, description: 'Header of the column; null for the row as a whole.' })
  column!: string | null;

  @Field(() => String, { nullable: true, description: 'What the column holds in this row, cut when long.' })
  value!: string | null;

  @Field(() => String, { description: 'What would be right.' })
  message!: string;
}

@ObjectType('ContactImport', {
  description: 'An import of contacts. It is forgotten 30 days after its end; the contacts stay.',
  simpleResolvers: true,
})
class ContactImportType {
  @Field(() => ID, { description: 'Identifier of the import.' })
  id!: string;

  @Field(() => EnvironmentEnum, { description: 'Where its contacts belong.' })
  environment!: Environment;

  @Field(() => ImportStateEnum, { description: 'How far it has come.' })
  state!: ImportState;

  @Field(() => ImportProgressType, { description: 'What became of the rows so far.' })
  progress!: ImportProgress;

  @Field(() => String, { nullable: true, description: 'Why it ended before its last row.' })
  failure!: string | null;

  @Field(() => String, { description: 'Who imports, as `user:…`.' })
  createdBy!: string;

  @Field(() => DateTime, { description: 'When it was asked for.' })
  createdAt!: Date;

  @Field(() => DateTime, { nullable: true, description: 'When it ended.' })
  finishedAt!: Date | null;
}

const ContactImportConnection = connectionOf('ContactImport', () => ContactImportType);
const ContactImportErrorConnection = connectionOf('ContactImportError', () => ContactImportErrorType);

@Resolver(() => ContactImportType)
export class ContactImportResolver {
  @Mutation(() => ContactImportType, {
    description: [
      'Adds and changes contacts from a CSV file, and returns at once: `contactImport` tells how far it has come.',
      'The first row names the columns: name, phone, email, externalId, tags (separated by `;` or `|`); any other',
      'is an attribute, with or without `attributes.` in front. A row changes the contact with its phone or',
      'externalId (with neither: with its email), of which empty cells change nothing, or adds one.',
      'A row about the same contact as one before it is reported and changes nothing.',
    ].join(' '),
  })
  importContacts(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('csv', () => String, {
      description: `The file's text, delimited by commas, semicolons or tabs: ${IMPORT_MAX_ROWS} rows and ${IMPORT_MAX_BYTES} bytes at the most.`,
    })
    csv: string,
    @Arg('environment', () => EnvironmentEnum, {
      nullable: true,
      description: 'Where the contacts belong; PRODUCTION when absent.',
    })
    environment?: Environment | null,
  ) {
    return run(operations.contactImports.start, { csv, environment: environment ?? undefined });
  }

  @Query(() => ContactImportType, { nullable: true, description: 'One import of the account.' })
  contactImport(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('id', () => ID, { description: 'The import.' }) id: string,
  ) {
    return run(operations.contactImports.find, { id });
  }

  @Query(() => ContactImportConnection, {
    nullable: true,
    description: "The account's imports of the last 30 days in an environment, the newest first.",
  })
  async contactImports(
    @Ctx() { run, operations }: GraphqlContext,
    @Args(() => SliceArgs) slice: SliceArgs,
    @Arg('environment', () => EnvironmentEnum, {
      nullable: true,
      description: 'Where their contacts belong; PRODUCTION when absent.',
    })
    environment?: Environment | null,
  ) {
    return connection(
      await run(operations.contactImports.list, { ...slice, environment: environment ?? undefined }),
    );
  }

  @FieldResolver(() => ContactImportErrorConnection, {
    description: 'What is wrong with the rows that failed, in the order of the rows.',
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
  @FieldResolver(() => Int, { description: 'Line of the file on which the row begins, from 1.' })
  row(@Root() fault: RowFault): number {
    return fault.line;
  }

  @FieldResolver(() => String, {
    description:
      'What kind of fault it is: INVALID_PHONE_NUMBER, BAD_USER_INPUT, CONTACT_EXISTS, DUPLICATE_ROW or MALFORMED_ROW.',
  })
  code(@Root() fault: RowFault): string {
    return codeOf(fault.code);
  }
}
