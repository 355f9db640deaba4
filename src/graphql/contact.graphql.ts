import { Args, Ctx, ID, InputType, ObjectType, Resolver } from 'type-graphql';
import type { Environment } from '../domain/caller.ts';
import { connection, connectionOf } from './connection.ts';
import type { GraphqlContext } from './context.ts';
import { weighing } from './cost.ts';
import { EnvironmentEnum } from './enums.ts';
import { Node } from './node.graphql.ts';
import { DateTime, JsonObject } from './scalars.ts';
import { SliceArgs } from './slice-args.ts';
import { Arg, Field, InputField, Mutation, Query } from './typed.ts';

type Attributes = Readonly<Record<string, unknown>>;

@ObjectType('Contact', {
  implements: Node,
  description: 'A person to send messages to.',
  simpleResolvers: true,
})
class ContactType {
  @Field(() => ID, { description: 'Identifier of the contact.' })
  id!: string;

  @Field(() => EnvironmentEnum, { description: 'Environment of the contact.' })
  environment!: Environment;

  @Field(() => String, { nullable: true, description: 'Name.' })
  name!: string | null;

  @Field(() => String, { nullable: true, description: 'Phone number in E.164.' })
  phone!: string | null;

  @Field(() => String, { nullable: true, description: 'Email address.' })
  email!: string | null;

  @Field(() => String, { nullable: true, description: 'Identifier of the contact in your system.' })
  externalId!: string | null;

  @Field(() => [String], { description: 'Tags.' })
  tags!: readonly string[];

  @Field(() => JsonObject, { description: 'Your own data about the contact.' })
  attributes!: Attributes;

  @Field(() => DateTime, { description: 'When it was created.' })
  createdAt!: Date;

  @Field(() => DateTime, { description: 'When it last changed.' })
  updatedAt!: Date;
}

@InputType()
abstract class ContactInput {
  @InputField(() => String, { nullable: true, description: 'Name.' })
  name?: string | null;

  @InputField(() => String, { nullable: true, description: 'Phone number, in any form that a send accepts.' })
  phone?: string | null;

  @InputField(() => String, { nullable: true, description: 'Email address.' })
  email?: string | null;

  @InputField(() => String, { nullable: true, description: 'Identifier of the contact in your system.' })
  externalId?: string | null;

  @InputField(() => [String], { nullable: true, description: 'Tags.' })
  tags?: readonly string[] | null;

  @InputField(() => JsonObject, { nullable: true, description: 'Your own data about the contact.' })
  attributes?: Attributes | null;
}

@InputType({ description: 'A new contact. It needs at least one of phone, email and externalId.' })
class CreateContactInput extends ContactInput {
  @InputField(() => EnvironmentEnum, {
    nullable: true,
    description: 'Environment. Default: PRODUCTION.',
  })
  environment?: Environment | null;
}

@InputType({ description: 'Changes of a contact. Absent fields stay as they are; null clears a field.' })
class UpdateContactInput extends ContactInput {}

const ContactConnection = connectionOf('Contact', () => ContactType);

@Resolver(() => ContactType)
export class ContactResolver {
  @Query(() => ContactConnection, {
    nullable: true,
    description: "The account's contacts in one environment, newest first.",
    cost: { each: weighing('search', 50), total: weighing('search', 200, 10) },
  })
  async contacts(
    @Ctx() { run, operations }: GraphqlContext,
    @Args(() => SliceArgs) slice: SliceArgs,
    @Arg('search', () => String, {
      nullable: true,
      description: 'Part of a name, phone, email or externalId.',
    })
    search?: string | null,
    @Arg('tag', () => String, { nullable: true, description: 'A tag of the contact.' })
    tag?: string | null,
    @Arg('environment', () => EnvironmentEnum, {
      nullable: true,
      description: 'Environment. Default: PRODUCTION.',
    })
    environment?: Environment | null,
  ) {
    // An empty search text means no search, as in the list of messages.
    const filter = { search: search || undefined, tag: tag ?? undefined };
    return connection(
      await run(operations.contacts.slice, { ...slice, filter, environment: environment ?? undefined }),
    );
  }

  @Query(() => ContactType, { nullable: true, description: 'One contact.' })
  contact(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('id', () => ID, { description: 'The contact.' }) id: string,
  ) {
    return run(operations.contacts.get, { id });
  }

  @Mutation(() => ContactType, {
    description: 'Creates a contact.',
    errors: ['contact_exists', 'invalid_phone_number'],
  })
  createContact(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('input', () => CreateContactInput, { description: 'The contact.' }) input: CreateContactInput,
  ) {
    return run(operations.contacts.create, { ...input, environment: input.environment ?? undefined });
  }

  @Mutation(() => ContactType, {
    description: 'Changes a contact.',
    errors: ['not_found', 'contact_exists', 'invalid_phone_number'],
  })
  updateContact(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('id', () => ID, { description: 'The contact.' }) id: string,
    @Arg('input', () => UpdateContactInput, { description: 'The changes.' }) input: UpdateContactInput,
  ) {
    return run(operations.contacts.update, { id, changes: input });
  }

  @Mutation(() => Boolean, { description: 'Deletes a contact.', errors: ['not_found'] })
  async deleteContact(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('id', () => ID, { description: 'The contact.' }) id: string,
  ) {
    await run(operations.contacts.remove, { id });
    return true;
  }
}
