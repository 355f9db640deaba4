import { GraphQLJSONObject } from 'graphql-scalars';
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
  ObjectType,
  Query,
  Resolver,
  Root,
} from 'type-graphql';
import type { Environment } from '../domain/caller.ts';
import type { Channel, Message, MessageStatus } from '../domain/messages/message.ts';
import { messageResource, shownTo } from '../domain/messages/message-resource.ts';
import { fromMinor } from '../domain/money/money.ts';
import { SEARCH_REACH } from '../domain/ports/list-stores.ts';
import type { RecordedEvent } from '../domain/webhooks/event.ts';
import { ApiKeyType } from './api-key.graphql.ts';
import { connection, connectionOf } from './connection.ts';
import type { GraphqlContext } from './context.ts';
import { ChannelEnum, EnvironmentEnum, MessageStatusEnum } from './enums.ts';
import { given } from './given.ts';
import { type PricedRecipient, RecipientType } from './recipient.graphql.ts';
import { DateTime } from './scalars.ts';
import { SliceArgs } from './slice-args.ts';

@ObjectType({ description: 'One thing that happened to a message.', simpleResolvers: true })
class TimelineEntryType {
  @Field(() => DateTime, { description: 'When.' })
  at!: Date;

  @Field(() => String, { description: 'What: a status, or a note such as `retry`.' })
  status!: string;

  @Field(() => String, { nullable: true, description: 'The recipient it happened to.' })
  recipient?: string;

  @Field(() => String, { nullable: true, description: 'More about it.' })
  detail?: string;
}

@ObjectType({ description: 'An event that webhooks are told of.', simpleResolvers: true })
class MessageEvent {
  @Field(() => String, { description: 'Event type, such as `sms.sent`.' })
  type!: string;

  @Field(() => DateTime, { description: 'When it was recorded.' })
  recordedAt!: Date;
}

@ObjectType({
  description: 'Figures of a message; those that its channel does not have are null.',
  simpleResolvers: true,
})
class MessageMetadata {
  @Field(() => Int, { nullable: true, description: 'Recipients accepted.' })
  recipientsProcessed?: number;

  @Field(() => Int, { nullable: true, description: 'Recipients dropped as invalid numbers.' })
  invalidNumbersSkipped?: number;

  @Field(() => Int, { nullable: true, description: 'Recipients dropped as invalid addresses.' })
  invalidAddressesSkipped?: number;

  @Field(() => Int, { nullable: true, description: 'Repeated recipients removed.' })
  duplicatesRemoved?: number;

  @Field(() => Int, { nullable: true, description: '160-character billing units.' })
  smsCount?: number;

  @Field(() => Int, { nullable: true, description: 'Length of the text in UTF-16 code units.' })
  messageLength?: number;

  @Field(() => Float, { nullable: true, description: 'Charge for one unit for one recipient.' })
  costPerSms?: number;

  @Field(() => String, { nullable: true, description: '`GSM-7` or `UCS-2`.' })
  encoding?: string;

  @Field(() => Int, { nullable: true, description: "The carrier's parts." })
  segments?: number;

  @Field(() => Int, { nullable: true, description: 'Devices aimed at.' })
  devicesTargeted?: number;

  @Field(() => Int, { nullable: true, description: 'Devices reached.' })
  devicesReached?: number;

  @Field(() => Int, { nullable: true, description: 'Devices not reached.' })
  devicesFailed?: number;

  @Field(() => Int, {
    nullable: true,
    description: 'Devices removed since the provider no longer knows them.',
  })
  devicesRemoved?: number;

  @Field(() => Int, { nullable: true, description: 'Devices left out, having no provider here.' })
  devicesSkipped?: number;

  @Field(() => Float, { nullable: true, description: 'Charge for one WhatsApp message.' })
  costPerMessage?: number;
}

@ObjectType('Message', {
  description: 'One accepted request to send, over any channel.',
  simpleResolvers: true,
})
export class MessageType {
  @Field(() => ID, { description: 'Identifier of the message.' })
  id!: string;

  @Field(() => String, { nullable: true, description: "The first accepted recipient's provider identifier." })
  sid!: string | null;

  @Field(() => ChannelEnum, { description: 'How it travels.' })
  channel!: Channel;

  @Field(() => EnvironmentEnum, { description: 'Where it was sent.' })
  environment!: Environment;

  @Field(() => String, { description: 'Sender shown to recipients.' })
  from!: string;

  @Field(() => String, { description: 'Text of the message.' })
  content!: string;

  @Field(() => GraphQLJSONObject, { nullable: true, description: 'What the channel has beyond its text.' })
  payload!: Readonly<Record<string, unknown>> | null;

  @Field(() => MessageStatusEnum, { description: 'How far it has come; follows from its recipients.' })
  status!: MessageStatus;

  @Field(() => String, {
    nullable: true,
    description: 'More about the status: `delivery_unconfirmed` or `refund_pending`.',
  })
  statusReason!: string | null;

  @Field(() => String, { description: 'Currency of the cost, ISO 4217.' })
  currency!: string;

  @Field(() => DateTime, { description: 'When it was accepted.' })
  createdAt!: Date;

  @Field(() => DateTime, { nullable: true, description: 'When it is to be sent; null for at once.' })
  scheduledFor!: Date | null;
}

@InputType({ description: 'Which messages to show; every member given must hold.' })
export class MessageFilter {
  @Field(() => ChannelEnum, { nullable: true, description: 'Of this channel.' })
  channel?: Channel | null;

  @Field(() => MessageStatusEnum, { nullable: true, description: 'In this status.' })
  status?: MessageStatus | null;

  @Field(() => EnvironmentEnum, { nullable: true, description: 'Sent in this environment.' })
  environment?: Environment | null;

  @Field(() => DateTime, { nullable: true, description: 'Accepted at this time or later.' })
  from?: Date | null;

  @Field(() => DateTime, { nullable: true, description: 'Accepted at this time or earlier.' })
  to?: Date | null;

  @Field(() => String, {
    nullable: true,
    description: `Part of the text, the sender or a recipient's address, looked for in the newest ${SEARCH_REACH.toLocaleString('en')} messages of each channel within \`from\` and \`to\`.`,
  })
  search?: string | null;

  @Field(() => ID, { nullable: true, description: 'Sent with this key.' })
  apiKeyId?: string | null;
}

const MessageConnection = connectionOf('Message', () => MessageType);

@Resolver(() => MessageType)
export class MessageResolver {
  @Query(() => MessageType, { nullable: true, description: 'One message of the account, of any channel.' })
  message(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('id', () => ID, { description: 'The message.' }) id: string,
  ) {
    return run(operations.messageLists.find, { id });
  }

  @Query(() => MessageConnection, {
    nullable: true,
    description: 'Messages of all channels, the newest first.',
  })
  async messages(
    @Ctx() { run, operations }: GraphqlContext,
    @Args(() => SliceArgs) slice: SliceArgs,
    @Arg('filter', () => MessageFilter, { nullable: true, description: 'Which ones; all when absent.' })
    filter?: MessageFilter | null,
  ) {
    return connection(await run(operations.messageLists.list, { ...slice, filter: given(filter) }));
  }

  @FieldResolver(() => [String], {
    description: 'Whom it goes to: addresses, or for a push message the users and devices that were named.',
  })
  to(@Root() message: Message): readonly string[] {
    return shownTo(message);
  }

  @FieldResolver(() => String, { nullable: true, description: 'Subject of an email.' })
  subject(@Root() message: Message) {
    return memberOf(message, 'subject');
  }

  @FieldResolver(() => String, { nullable: true, description: 'Title of a push message.' })
  title(@Root() message: Message) {
    return memberOf(message, 'title');
  }

  @FieldResolver(() => String, {
    nullable: true,
    description: 'Type of a WhatsApp message, such as `template`.',
  })
  type(@Root() message: Message) {
    return memberOf(message, 'type');
  }

  @FieldResolver(() => DateTime, {
    nullable: true,
    description: 'When it was first read, where the channel tells.',
  })
  readAt(@Root() message: Message): Date | null {
    return message.tally.readAt;
  }

  @FieldResolver(() => Float, { description: 'Total charge; 0 in the sandbox.' })
  cost(@Root() message: Message): number {
    return fromMinor(message.costMinor, message.currency);
  }

  @FieldResolver(() => Boolean, { description: 'True when it was sent in the sandbox.' })
  sandbox(@Root() message: Message): boolean {
    return message.environment === 'sandbox';
  }

  @FieldResolver(() => MessageMetadata, { description: 'Figures of the message.' })
  metadata(@Root() message: Message) {
    return messageResource(message).metadata ?? {};
  }

  @FieldResolver(() => [RecipientType], {
    description: 'The addresses it goes to, each with its own status.',
  })
  async recipients(@Root() message: Message, @Ctx() { loaders }: GraphqlContext): Promise<PricedRecipient[]> {
    const { currency } = message;
    return (await loaders.recipients.load(message)).map((recipient) => ({ ...recipient, currency }));
  }

  @FieldResolver(() => [MessageEvent], { description: 'The events it caused, in their order.' })
  events(@Root() message: Message, @Ctx() { loaders }: GraphqlContext) {
    return loaders.events.load(message);
  }

  @FieldResolver(() => [TimelineEntryType], { description: 'What happened to it, in the order of time.' })
  timeline(@Root() message: Message, @Ctx() { loaders }: GraphqlContext) {
    return loaders.timeline.load(message);
  }

  @FieldResolver(() => ApiKeyType, {
    nullable: true,
    description: 'The key it was sent with; null when a person sent it.',
  })
  apiKey(@Root() message: Message, @Ctx() { loaders }: GraphqlContext) {
    return message.apiKeyId === null ? null : loaders.apiKey.load(message.apiKeyId);
  }
}

@Resolver(() => MessageEvent)
export class MessageEventResolver {
  @FieldResolver(() => GraphQLJSONObject, { description: 'The envelope as webhooks receive it.' })
  payload(@Root() event: RecordedEvent): unknown {
    return JSON.parse(event.body);
  }
}

/** A member of the resource that only some channels have. */
function memberOf(message: Message, member: string): unknown {
  return (messageResource(message) as Readonly<Record<string, unknown>>)[member];
}
