/** Fields that say who did something: on API keys, messages, imports, ledger entries and audit entries. Also what for. */
import { Ctx, ObjectType, Resolver, Root } from 'type-graphql';
import type { LedgerEntry } from '../domain/accounts/account.ts';
import type { Actor as FoundActor } from '../domain/accounts/actor.ts';
import type { User } from '../domain/accounts/user.ts';
import type { ApiKey } from '../domain/api-keys/api-key.ts';
import type { AuditEntry } from '../domain/audit/audit-entry.ts';
import type { ContactImport } from '../domain/contacts/contact-import.ts';
import type { Message } from '../domain/messages/message.ts';
import { LedgerEntryType, type ShownEntry } from './account.graphql.ts';
import { ApiKeyType } from './api-key.graphql.ts';
import { AuditEntryType } from './audit.graphql.ts';
import { ContactImportType } from './contact-import.graphql.ts';
import type { GraphqlContext } from './context.ts';
import { UserType } from './member.graphql.ts';
import { MessageType } from './message.graphql.ts';
import { type PricedRecipient, RecipientType } from './recipient.graphql.ts';
import { Field, FieldResolver, type Tagged, unionOf } from './typed.ts';

@ObjectType({
  description: 'The gateway itself, its command line, or an operator of the platform.',
  simpleResolvers: true,
})
class System {
  @Field(() => String, { description: 'Name, such as `cli`. Members see every operator as `operator`.' })
  name!: string;
}

type ActorValue = Tagged<User, 'User'> | Tagged<ApiKey, 'ApiKey'> | Tagged<System, 'System'>;

const Actor = unionOf<ActorValue>(
  'Actor',
  'Who did something: a person, an API key, or the system. Removed people and ended keys are shown too.',
  () => [UserType, ApiKeyType, System],
);

function shown(actor: FoundActor): ActorValue {
  switch (actor.kind) {
    case 'user':
      return { ...actor.user, __typename: 'User' };
    case 'key':
      return { ...actor.key, __typename: 'ApiKey' };
    case 'system':
      return { name: actor.name, __typename: 'System' };
  }
}

async function load({ loaders }: GraphqlContext, text: string): Promise<ActorValue> {
  return shown(await loaders.actor.load(text));
}

/**
 * Returns who sent a message, in the text form of `actorOf`. Undefined for old messages, which do not record a sender.
 */
function senderOf({ apiKeyId, userId }: Message): string | undefined {
  if (apiKeyId !== null) return `key:${apiKeyId}`;
  return userId === null ? undefined : `user:${userId}`;
}

@Resolver(() => ApiKeyType)
export class ApiKeyActorResolver {
  @FieldResolver(() => Actor, {
    description: 'Who created the key. A key that replaces another inherits it.',
  })
  creator(@Root() key: ApiKey, @Ctx() context: GraphqlContext) {
    return load(context, key.createdBy);
  }

  @FieldResolver(() => Actor, {
    description: 'Who received the secret: who created the key, or rotated the key before it.',
  })
  issuer(@Root() key: ApiKey, @Ctx() context: GraphqlContext) {
    return load(context, key.issuedBy);
  }
}

@Resolver(() => MessageType)
export class MessageActorResolver {
  @FieldResolver(() => Actor, { nullable: true, description: 'Who sent the message.' })
  sentBy(@Root() message: Message, @Ctx() context: GraphqlContext) {
    const sender = senderOf(message);
    return sender === undefined ? null : load(context, sender);
  }
}

@Resolver(() => ContactImportType)
export class ContactImportActorResolver {
  @FieldResolver(() => Actor, { description: 'Who started the import.' })
  creator(@Root() one: ContactImport, @Ctx() context: GraphqlContext) {
    return load(context, one.createdBy);
  }
}

@Resolver(() => AuditEntryType)
export class AuditActorResolver {
  @FieldResolver(() => Actor, { description: 'Who did it.' })
  actor(@Root() entry: AuditEntry, @Ctx() context: GraphqlContext) {
    return load(context, entry.actor);
  }
}

@Resolver(() => LedgerEntryType)
export class LedgerActorResolver {
  @FieldResolver(() => MessageType, {
    nullable: true,
    description: 'The message that was charged or refunded. Null if it is no longer kept.',
  })
  message(@Root() { messageId }: LedgerEntry, @Ctx() { loaders }: GraphqlContext) {
    return messageId === null ? null : loaders.message.load(messageId);
  }

  @FieldResolver(() => RecipientType, {
    nullable: true,
    description: 'The recipient that was refunded. Null for other entries, and if it is no longer kept.',
  })
  async recipient(
    @Root() { messageId, position, currency }: ShownEntry,
    @Ctx() { loaders }: GraphqlContext,
  ): Promise<PricedRecipient | null> {
    if (messageId === null || position === null) return null;
    const recipient = await loaders.recipientAt.load({ messageId, position });
    return recipient && { ...recipient, currency };
  }

  @FieldResolver(() => Actor, {
    nullable: true,
    description:
      'Who made the entry; for a charge, who sent the message. Null for a refund, and for a charge whose message is no longer kept.',
  })
  async actor(@Root() entry: LedgerEntry, @Ctx() context: GraphqlContext) {
    if (entry.actor !== null) return load(context, entry.actor);
    if (entry.kind !== 'charge' || entry.messageId === null) return null;
    const message = await context.loaders.message.load(entry.messageId);
    const sender = message && senderOf(message);
    return sender ? load(context, sender) : null;
  }
}
