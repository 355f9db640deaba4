import { Args, Ctx, Float, ID, InputType, Int, ObjectType, Resolver, Root } from 'type-graphql';
import type { Environment } from '../domain/caller.ts';
import {
  type Channel,
  type Message,
  type MessageStatus,
  type Purpose,
  recipientCounts,
  type StatusReason,
  type TimelineEntry,
} from '../domain/messages/message.ts';
import type { MessageOrder } from '../domain/messages/message-list-operations.ts';
import { messageResource, shownTo } from '../domain/messages/message-resource.ts';
import { whatsAppContent } from '../domain/messages/whatsapp-content.ts';
import { fromMinor } from '../domain/money/money.ts';
import { SEARCH_REACH } from '../domain/ports/list-stores.ts';
import type { RecordedEvent } from '../domain/webhooks/event.ts';
import { ApiKeyType } from './api-key.graphql.ts';
import { searchedConnection, searchedConnectionOf } from './connection.ts';
import type { GraphqlContext } from './context.ts';
import { type FieldCost, weighingFilter } from './cost.ts';
import {
  ChannelEnum,
  EnvironmentEnum,
  MessageOrderEnum,
  MessageStatusEnum,
  MessageTypeEnum,
  PurposeEnum,
  StatusReasonEnum,
} from './enums.ts';
import { given } from './given.ts';
import { Money, moneyOf } from './money.graphql.ts';
import { Node } from './node.graphql.ts';
import { type PricedRecipient, RecipientType } from './recipient.graphql.ts';
import { Currency, DateTime, JsonObject } from './scalars.ts';
import { TwoWaySliceArgs } from './slice-args.ts';
import { Arg, Field, FieldResolver, InputField, Query } from './typed.ts';

@ObjectType('TimelineEntry', { description: 'One thing that happened to a message.', simpleResolvers: true })
export class TimelineEntryType implements TimelineEntry {
  @Field(() => DateTime, { description: 'When it happened.' })
  at!: Date;

  @Field(() => String, { description: 'What happened: a status, or a note such as `retry`.' })
  status!: string;

  @Field(() => String, { nullable: true, description: 'The recipient concerned.' })
  recipient?: string;

  @Field(() => String, { nullable: true, description: 'Details.' })
  detail?: string;
}

@ObjectType({ description: 'An event that webhooks receive.', simpleResolvers: true })
export class MessageEvent {
  @Field(() => String, { description: 'Event type, such as `sms.sent`.' })
  type!: string;

  @Field(() => DateTime, { description: 'When it was recorded.' })
  recordedAt!: Date;
}

@ObjectType({
  description: 'Figures of a message. Figures of other channels are null.',
  simpleResolvers: true,
})
class MessageMetadata {
  @Field(() => Int, { nullable: true, description: 'Recipients accepted.' })
  recipientsProcessed?: number;

  @Field(() => Int, { nullable: true, description: 'Recipients dropped as invalid numbers.' })
  invalidNumbersSkipped?: number;

  @Field(() => Int, { nullable: true, description: 'Recipients dropped as invalid addresses.' })
  invalidAddressesSkipped?: number;

  @Field(() => Int, {
    nullable: true,
    description: 'Recipients left out because they are suppressed. Null for none.',
  })
  suppressedSkipped?: number;

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

  @Field(() => Int, { nullable: true, description: 'Devices targeted.' })
  devicesTargeted?: number;

  @Field(() => Int, { nullable: true, description: 'Devices reached.' })
  devicesReached?: number;

  @Field(() => Int, { nullable: true, description: 'Devices not reached.' })
  devicesFailed?: number;

  @Field(() => Int, {
    nullable: true,
    description: 'Devices deleted because the provider no longer knows them.',
  })
  devicesRemoved?: number;

  @Field(() => Int, {
    nullable: true,
    description: 'Devices skipped because this gateway has no provider for them.',
  })
  devicesSkipped?: number;

  @Field(() => Float, { nullable: true, description: 'Charge for one WhatsApp message.' })
  costPerMessage?: number;
}

@ObjectType({ description: 'Number of recipients in each status.', simpleResolvers: true })
class RecipientCounts implements Record<MessageStatus, number> {
  @Field(() => Int, { description: 'Recipients that no carrier or provider has accepted yet.' })
  pending!: number;

  @Field(() => Int, { description: 'Recipients that are accepted, but not reported as delivered.' })
  sent!: number;

  @Field(() => Int, { description: 'Delivered recipients.' })
  delivered!: number;

  @Field(() => Int, { description: 'Failed recipients.' })
  failed!: number;
}

@ObjectType('Message', {
  implements: Node,
  description: 'One accepted send, on any channel.',
  simpleResolvers: true,
})
export class MessageType {
  @Field(() => ID, { description: 'Identifier of the message.' })
  id!: string;

  @Field(() => String, {
    nullable: true,
    description: "The provider's identifier of the first accepted recipient.",
  })
  sid!: string | null;

  @Field(() => ChannelEnum, { description: 'Channel of the message.' })
  channel!: Channel;

  @Field(() => EnvironmentEnum, { description: 'Environment of the message.' })
  environment!: Environment;

  @Field(() => String, { description: 'Sender shown to recipients.' })
  from!: string;

  @Field(() => String, { description: 'Text of the message.' })
  content!: string;

  @Field(() => JsonObject, { nullable: true, description: 'Content of the channel besides the text.' })
  payload!: Readonly<Record<string, unknown>> | null;

  @Field(() => PurposeEnum, { description: 'What the message is for.' })
  purpose!: Purpose;

  @Field(() => MessageStatusEnum, { description: 'Status of the message; it follows from its recipients.' })
  status!: MessageStatus;

  @Field(() => StatusReasonEnum, {
    nullable: true,
    description: 'The reason for the status, where it needs one.',
  })
  statusReason!: StatusReason | null;

  @Field(() => Currency, { description: 'Currency of the cost.' })
  currency!: string;

  @Field(() => DateTime, { description: 'When the message was accepted.' })
  createdAt!: Date;

  @Field(() => DateTime, { nullable: true, description: 'When it is sent. Null means at once.' })
  scheduledFor!: Date | null;

  @Field(() => DateTime, {
    nullable: true,
    description:
      'When the last recipient that quiet hours hold may leave, or left. Null if they held none: only marketing is held.',
  })
  heldUntil!: Date | null;
}

const SEARCHED = `Only the newest ${SEARCH_REACH.toLocaleString('en')} messages of each channel between \`from\` and \`to\` are searched.`;

@InputType({ description: 'Conditions on messages. All that are given must hold.' })
export class MessageFilter {
  @InputField(() => [ChannelEnum], { nullable: true, description: 'The channel, or one of several.' })
  channel?: readonly Channel[] | null;

  @InputField(() => [MessageStatusEnum], { nullable: true, description: 'The status, or one of several.' })
  status?: readonly MessageStatus[] | null;

  @InputField(() => EnvironmentEnum, { nullable: true, description: 'The environment.' })
  environment?: Environment | null;

  @InputField(() => DateTime, { nullable: true, description: 'Earliest time of acceptance, inclusive.' })
  from?: Date | null;

  @InputField(() => DateTime, { nullable: true, description: 'Latest time of acceptance, inclusive.' })
  to?: Date | null;

  @InputField(() => String, {
    nullable: true,
    description: `Part of the text, the sender or the address of a recipient. A phone number may have any form that a send accepts. ${SEARCHED}`,
  })
  search?: string | null;

  @InputField(() => ID, { nullable: true, description: 'The `keyId` of the API key that sent it.' })
  apiKeyId?: string | null;

  @InputField(() => String, { nullable: true, description: `The sender. ${SEARCHED}` })
  sender?: string | null;

  @InputField(() => String, {
    nullable: true,
    description: `The error of one of its recipients. ${SEARCHED}`,
  })
  errorCode?: string | null;

  @InputField(() => String, {
    nullable: true,
    description: `The carrier or provider that accepted one of its recipients. ${SEARCHED}`,
  })
  provider?: string | null;

  @InputField(() => MessageStatusEnum, {
    nullable: true,
    description: `The status of one of its recipients. FAILED also finds a message that reached its other recipients. An index serves FAILED. With another status: ${SEARCHED}`,
  })
  recipientStatus?: MessageStatus | null;
}

const NOT_FROM_END =
  '`last` and `before` do not go with `orderBy: COST`, nor with the filters `search`, `sender`, `errorCode`, `provider` and `recipientStatus`.';

/** Filter fields that no index covers. A total with one of them is expensive. */
const SEARCHES = ['search', 'sender', 'errorCode', 'provider'];
type Cost = NonNullable<FieldCost['each']>;
/** Adds the points for a recipient's status. `failed` is cheaper, because these messages are listed. */
const orStatus = (weight: number, listed: number, otherwise: Cost): Cost => {
  return (args) => {
    const status = (args.filter as MessageFilter | null | undefined)?.recipientStatus;
    return Math.max(otherwise(args), status ? (status === 'failed' ? listed : weight) : 0);
  };
};
const searching = orStatus(1_000, 20, weighingFilter(SEARCHES, 1_000, 0));
const COSTLIEST: MessageOrder = 'cost';
/** Points for the costliest messages. The query sorts all messages that a search would read. */
const COSTLIEST_COST = 1_000;

const MessageConnection = searchedConnectionOf('Message', () => MessageType);

@Resolver(() => MessageType)
export class MessageResolver {
  @Query(() => MessageType, { nullable: true, description: 'One message, of any channel.' })
  message(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('id', () => ID, { description: 'The message.' }) id: string,
  ) {
    return run(operations.messageLists.find, { id });
  }

  @Query(() => MessageConnection, {
    nullable: true,
    description: `Messages of all channels, newest first, or as \`orderBy\` says. ${NOT_FROM_END}`,
    cost: {
      each: (args) => searching(args) + (args.orderBy === COSTLIEST ? COSTLIEST_COST : 0),
      total: orStatus(2_000, 200, weighingFilter(SEARCHES, 2_000, 20)),
    },
  })
  async messages(
    @Ctx() { run, operations }: GraphqlContext,
    @Args(() => TwoWaySliceArgs) slice: TwoWaySliceArgs,
    @Arg('filter', () => MessageFilter, { nullable: true, description: 'Default: all.' })
    filter?: MessageFilter | null,
    @Arg('orderBy', () => MessageOrderEnum, { nullable: true, description: 'The order. Default: TIME.' })
    orderBy?: MessageOrder | null,
  ) {
    const input = { ...slice, filter: given(filter), orderBy: orderBy ?? undefined };
    return searchedConnection(await run(operations.messageLists.list, input));
  }

  @FieldResolver(() => [String], {
    description: 'Recipients as given: addresses; for a push message, users and devices.',
  })
  to(@Root() message: Message): readonly string[] {
    return shownTo(message);
  }

  @FieldResolver(() => String, { nullable: true, description: 'Subject of an email.' })
  subject(@Root() message: Message) {
    return textOf(message, 'subject');
  }

  @FieldResolver(() => String, { nullable: true, description: 'Title of a push message.' })
  title(@Root() message: Message) {
    return textOf(message, 'title');
  }

  @FieldResolver(() => MessageTypeEnum, { nullable: true, description: 'Type of a WhatsApp message.' })
  type(@Root() message: Message) {
    return message.channel === 'whatsapp' ? whatsAppContent(message).type : null;
  }

  @FieldResolver(() => DateTime, {
    nullable: true,
    description: 'When a recipient first read it, on channels that report it.',
  })
  readAt(@Root() message: Message): Date | null {
    return message.tally.readAt;
  }

  @FieldResolver(() => Float, { description: 'Total cost at acceptance. 0 in the sandbox.' })
  cost(@Root() message: Message): number {
    return fromMinor(message.costMinor, message.currency);
  }

  @FieldResolver(() => Money, { description: 'The same cost, exact.' })
  costMoney(@Root() message: Message): Money {
    return moneyOf(message.costMinor, message.currency);
  }

  @FieldResolver(() => Money, { description: 'Price of one unit for one recipient.' })
  unitPrice(@Root() message: Message): Money {
    return moneyOf(message.unitPriceMinor, message.currency);
  }

  @FieldResolver(() => Boolean, { description: 'True in the sandbox environment.' })
  sandbox(@Root() message: Message): boolean {
    return message.environment === 'sandbox';
  }

  @FieldResolver(() => MessageMetadata, { description: 'Figures of the message.' })
  metadata(@Root() message: Message) {
    return messageResource(message).metadata ?? {};
  }

  @FieldResolver(() => [RecipientType], {
    description: 'The recipients, each with their own status.',
  })
  async recipients(@Root() message: Message, @Ctx() { loaders }: GraphqlContext): Promise<PricedRecipient[]> {
    const { currency } = message;
    return (await loaders.recipients.load(message)).map((recipient) => ({ ...recipient, currency }));
  }

  @FieldResolver(() => RecipientCounts, {
    description:
      'Number of recipients in each status. The message itself has them: they cost no further look-up.',
  })
  recipientCounts(@Root() message: Message): RecipientCounts {
    return recipientCounts(message);
  }

  @FieldResolver(() => [MessageEvent], { description: 'Events of the message, in order.' })
  events(@Root() message: Message, @Ctx() { loaders }: GraphqlContext) {
    return loaders.events.load(message);
  }

  @FieldResolver(() => [TimelineEntryType], { description: 'History of the message, in order of time.' })
  timeline(@Root() message: Message, @Ctx() { loaders }: GraphqlContext) {
    return loaders.timeline.load(message);
  }

  @FieldResolver(() => ApiKeyType, {
    nullable: true,
    description: 'The API key that sent it. Null if a person sent it.',
  })
  apiKey(@Root() message: Message, @Ctx() { loaders }: GraphqlContext) {
    return message.apiKeyId === null ? null : loaders.apiKey.load(message.apiKeyId);
  }
}

@Resolver(() => MessageEvent)
export class MessageEventResolver {
  @FieldResolver(() => JsonObject, { description: 'The envelope as webhooks receive it.' })
  payload(@Root() event: RecordedEvent): Readonly<Record<string, unknown>> {
    return JSON.parse(event.body);
  }
}

/** Returns a text that only some channels have. Null for other channels. */
function textOf(message: Message, member: 'subject' | 'title'): string | null {
  const text = (messageResource(message) as Readonly<Record<string, unknown>>)[member];
  return typeof text === 'string' ? text : null;
}
