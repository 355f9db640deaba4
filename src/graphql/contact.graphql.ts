import { GraphQLJSONObject } from 'graphql-scalars';
import { Arg, Args, Ctx, Field, ID, InputType, Mutation, ObjectType, Query, Resolver } from 'type-graphql';
import type { Environment } from '../domain/caller.ts';
import { connection, connectionOf } from './connection.ts';
import type { GraphqlContext } from './context.ts';
import { EnvironmentEnum } from './enums.ts';
import { DateTime } from './scalars.ts';
import { SliceArgs } from './slice-args.ts';

type Attributes = Readonly<Record<string, unknown>>;

@ObjectType('Contact', { description: 'A person whom the account writes to.', simpleResolvers: true })
class ContactType {
  @Field(() => ID, { description: 'Identifier of the contact.' })
  id!: string;

  @Field(() => EnvironmentEnum, { description: 'Where it belongs.' })
  environment!: Environment;

  @Field(() => String, { nullable: true, description: 'Name.' })
  name!: string | null;

  @Field(() => String, { nullable: true, description: 'Phone number in E.164.' })
  phone!: string | null;

  @Field(() => String, { nullable: true, description: 'Email address.' })
  email!: string | null;

  @Field(() => String, { nullable: true, description: "The contact's id in the account's own system." })
  externalId!: string | null;

  @Field(() => [String], { description: 'Tags.' })
  tags!: readonly string[];

  @Field(() => GraphQLJSONObject, { description: 'What the account wants to remember.' })
  attributes!: Attributes;

  @Field(() => DateTime, { description: 'When it was added.' })
  createdAt!: Date;

  @Field(() => DateTime, { description: 'When it last changed.' })
  updatedAt!: Date;
}

@InputType()
abstract class ContactInput {
  @Field(() => String, { nullable: true, description: 'Name.' })
  name?: string | null;

  @Field(() => String, { nullable: true, description: 'Phone number, in any form that a send takes.' })
  phone?: string | null;

  @Field(() => String, { nullable: true, description: 'Email address.' })
  email?: string | null;

  @Field(() => String, { nullable: true, description: "The contact's id in the account's own system." })
  externalId?: string | null;

  @Field(() => [String], { nullable: true, description: 'Tags.' })
  tags?: string[] | null;

  @Field(() => GraphQLJSONObject, { nullable: true, description: 'What the account wants to remember.' })
  attributes?: Attributes | null;
}

@InputType({ description: 'A new contact: at least one of phone, email and externalId.' })
class CreateContactInput extends ContactInput {
  @Field(() => EnvironmentEnum, { nullable: true, description: 'Where to add it; PRODUCTION when absent.' })
  environment?: Environment | null;
}

@InputType({ description: 'What to change of a contact; what is absent stays, null empties it.' })
class UpdateContactInput extends ContactInput {}

const ContactConnection = connectionOf('Contact', () => ContactType);

@Resolver(() => ContactType)
export class ContactResolver {
  @Query(() => ContactConnection, {
    nullable: true,
    description: "The account's contacts in an environment, the newest first.",
  })
  async contacts(
    @Ctx() { run, operations }: GraphqlContext,
    @Args(() => SliceArgs) slice: SliceArgs,
    @Arg('search', () => String, {
      nullable: true,
      description: 'Part of a name, phone, email or externalId.',
    })
    search?: string | null,
    @Arg('tag', () => String, { nullable: true, description: 'A tag that the contact has.' })
    tag?: string | null,
    @Arg('environment', () => EnvironmentEnum, {
      nullable: true,
      description: 'Where they belong; PRODUCTION when absent.',
    })
    environment?: Environment | null,
  ) {
    // An empty search asks for all, as that of messages does.
    const filter = { search: search || undefined, tag: tag ?? undefined };
    return connection(
      await run(operations.contacts.slice, { ...slice, filter, environment: environment ?? undefined }),
    );
  }

  @Query(() => ContactType, { nullable: true, description: 'One contact of the account.' })
  contact(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('id', () => ID, { description: 'The contact.' }) id: string,
  ) {
    return run(operations.contacts.get, { id });
  }

  @Mutation(() => ContactType, { description: 'Adds a contact.' })
  createContact(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('input', () => CreateContactInput, { description: 'The contact.' }) input: CreateContactInput,
  ) {
    return run(operations.contacts.create, { ...input, environment: input.environment ?? undefined });
  }

  @Mutation(() => ContactType, { description: 'Changes a contact.' })
  updateContact(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('id', () => ID, { description: 'The contact.' }) id: string,
    @Arg('input', () => UpdateContactInput, { description: 'What changes.' }) input: UpdateContactInput,
  ) {
    return run(operations.contacts.update, { id, changes: input });
  }

  @Mutation(() => Boolean, { description: 'Removes a contact.' })
  async deleteContact(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('id', () => ID, { description: 'The contact.' }) id: string,
  ) {
    await run(operations.contacts.remove, { id });
    return true;
  }
}
