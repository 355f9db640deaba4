import { Ctx, Float, ID, Int, ObjectType, Resolver } from 'type-graphql';
import type { Environment } from '../domain/caller.ts';
import type { Channel, MessageStatus, StatusReason, TimelineEntry } from '../domain/messages/message.ts';
import type { LookedUpMessage, LookedUpRecipient } from '../domain/platform/look-up.ts';
import type { GraphqlContext } from './context.ts';
import type { FieldCost } from './cost.ts';
import { ChannelEnum, EnvironmentEnum, MessageStatusEnum, StatusReasonEnum } from './enums.ts';
import { TimelineEntryType } from './message.graphql.ts';
import { DateTime } from './scalars.ts';
import { Arg, Field, Mutation } from './typed.ts';

/** A look-up of a number looks into an index once for each account. */
const COST: FieldCost = { each: () => 500 };

@ObjectType('LookedUpRecipient', {
  description: 'A recipient as an operator sees it.',
  simpleResolvers: true,
})
class LookedUpRecipientType implements LookedUpRecipient {
  @Field(() => String, { description: 'The address; masked, unless it was searched for.' })
  address!: string;

  @Field(() => MessageStatusEnum, { description: 'The status.' })
  status!: MessageStatus;

  @Field(() => String, { nullable: true, description: 'The carrier or provider that took it.' })
  provider!: string | null;

  @Field(() => String, { nullable: true, description: "The provider's id of the message." })
  sid!: string | null;

  @Field(() => DateTime, { nullable: true, description: 'When a provider accepted it.' })
  sentAt!: Date | null;

  @Field(() => DateTime, { nullable: true, description: 'When it was delivered.' })
  deliveredAt!: Date | null;

  @Field(() => DateTime, { nullable: true, description: 'When it failed.' })
  failedAt!: Date | null;

  @Field(() => Int, { description: 'Submissions without an answer or with a temporary error.' })
  attempts!: number;

  @Field(() => String, { nullable: true, description: 'Why it failed.' })
  errorCode!: string | null;

  @Field(() => String, { nullable: true, description: 'The same in words, without whole addresses.' })
  errorMessage!: string | null;
}

@ObjectType('LookedUpMessage', {
  description: 'A message of any account as an operator sees it, without its text.',
  simpleResolvers: true,
})
class LookedUpMessageType implements LookedUpMessage {
  @Field(() => ID, { description: 'Identifier of the message.' })
  id!: string;

  @Field(() => ID, { description: 'The account.' })
  accountId!: string;

  @Field(() => String, { description: 'Name of the account.' })
  accountName!: string;

  @Field(() => ChannelEnum, { description: 'The channel.' })
  channel!: Channel;

  @Field(() => EnvironmentEnum, { description: 'The environment.' })
  environment!: Environment;

  @Field(() => MessageStatusEnum, { description: 'The status.' })
  status!: MessageStatus;

  @Field(() => StatusReasonEnum, {
    nullable: true,
    description: 'The reason for the status, where it needs one.',
  })
  statusReason!: StatusReason | null;

  @Field(() => DateTime, { description: 'When the message was accepted.' })
  createdAt!: Date;

  @Field(() => DateTime, { nullable: true, description: 'When it is to be sent, if it was scheduled.' })
  scheduledFor!: Date | null;

  @Field(() => String, { description: 'The sender.' })
  sender!: string;

  @Field(() => Int, { description: 'Characters of its text. 0 if it was erased.' })
  textLength!: number;

  @Field(() => Float, { description: 'Number of its recipients.' })
  recipientCount!: number;

  @Field(() => [LookedUpRecipientType], {
    description: 'At most 10 of them; those that were searched for come first.',
  })
  recipients!: readonly LookedUpRecipient[];

  @Field(() => [TimelineEntryType], { description: 'What happened to these recipients, oldest first.' })
  timeline!: readonly TimelineEntry[];
}

@Resolver()
export class LookUpResolver {
  @Mutation(() => [LookedUpMessageType], {
    description:
      'Finds the newest 10 messages of any account by id, by the id of a provider, or by the whole number or email address of a recipient. Each call is in the audit logs of the platform and of the accounts. For operators.',
    errors: [],
    cost: COST,
  })
  lookUpMessages(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('query', () => String, { description: 'What to find, 4 to 200 characters.' }) query: string,
  ) {
    return run(operations.platform.lookUp, { query });
  }
}
