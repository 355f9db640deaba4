import { Field, FieldResolver, Float, ObjectType, Resolver, Root } from 'type-graphql';
import {
  type Message,
  type MessageStatus,
  type Recipient,
  type RecipientError,
  refundedMinor,
} from '../domain/messages/message.ts';
import { fromMinor } from '../domain/money/money.ts';
import { MessageStatusEnum } from './enums.ts';
import { DateTime } from './scalars.ts';

@ObjectType('RecipientError', { description: 'Why a recipient was not reached.', simpleResolvers: true })
class RecipientErrorType {
  @Field(() => String, { description: 'Code of the reason.' })
  code!: string;

  @Field(() => String, { description: 'The reason in words.' })
  message!: string;
}

/** A recipient with the currency of its message. */
export type PricedRecipient = Recipient & Pick<Message, 'currency'>;

@ObjectType('Recipient', { description: 'One address of a message.', simpleResolvers: true })
export class RecipientType {
  @Field(() => MessageStatusEnum, { description: 'How far it has come.' })
  status!: MessageStatus;

  @Field(() => String, {
    nullable: true,
    description: "The provider's identifier; null until it was accepted.",
  })
  sid!: string | null;

  @Field(() => RecipientErrorType, { nullable: true, description: 'Why it failed.' })
  error!: RecipientError | null;

  @Field(() => DateTime, { nullable: true, description: 'When it was handed over.' })
  sentAt!: Date | null;

  @Field(() => DateTime, { nullable: true, description: 'When it was delivered.' })
  deliveredAt!: Date | null;

  @Field(() => DateTime, { nullable: true, description: 'When it failed.' })
  failedAt!: Date | null;

  @Field(() => DateTime, { nullable: true, description: 'When it was read, where the channel tells.' })
  readAt!: Date | null;

  @Field(() => DateTime, {
    nullable: true,
    description: 'When it is refunded: it failed although an earlier hand-over may have left.',
  })
  refundDueAt!: Date | null;
}

@Resolver(() => RecipientType)
export class RecipientResolver {
  @FieldResolver(() => String, { description: 'The address.' })
  to(@Root() recipient: Recipient): string {
    return recipient.address;
  }

  @FieldResolver(() => Float, { description: 'What was charged for it.' })
  cost(@Root() { costMinor, currency }: PricedRecipient): number {
    return fromMinor(costMinor, currency);
  }

  @FieldResolver(() => Float, {
    description: 'What of `cost` was given back: all of it where nobody accepted it.',
  })
  refunded(@Root() recipient: PricedRecipient): number {
    return fromMinor(refundedMinor(recipient), recipient.currency);
  }
}
