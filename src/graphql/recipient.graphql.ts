import { Float, ObjectType, Resolver, Root } from 'type-graphql';
import {
  type Message,
  type MessageStatus,
  type Recipient,
  type RecipientError,
  refundedMinor,
} from '../domain/messages/message.ts';
import { fromMinor } from '../domain/money/money.ts';
import { MessageStatusEnum } from './enums.ts';
import { Money, moneyOf } from './money.graphql.ts';
import { DateTime } from './scalars.ts';
import { Field, FieldResolver } from './typed.ts';

@ObjectType('RecipientError', { description: 'Why a recipient failed.', simpleResolvers: true })
class RecipientErrorType implements RecipientError {
  @Field(() => String, { description: 'Code of the reason, such as `rejected`.' })
  code!: string;

  @Field(() => String, { description: 'The reason in words.' })
  message!: string;
}

/** A recipient with the currency of its message. */
export type PricedRecipient = Recipient & Pick<Message, 'currency'>;

@ObjectType('Recipient', { description: 'One recipient of a message.', simpleResolvers: true })
export class RecipientType {
  @Field(() => MessageStatusEnum, { description: 'Status of the recipient.' })
  status!: MessageStatus;

  @Field(() => String, {
    nullable: true,
    description: "The provider's identifier. Null until the provider accepts.",
  })
  sid!: string | null;

  @Field(() => RecipientErrorType, { nullable: true, description: 'Why the recipient failed.' })
  error!: RecipientError | null;

  @Field(() => String, {
    nullable: true,
    description: 'The carrier or provider that accepted or rejected it. Null until one answers.',
  })
  provider!: string | null;

  @Field(() => DateTime, { nullable: true, description: 'When the provider accepted it.' })
  sentAt!: Date | null;

  @Field(() => DateTime, { nullable: true, description: 'When the provider reported its delivery.' })
  deliveredAt!: Date | null;

  @Field(() => DateTime, { nullable: true, description: 'When it failed.' })
  failedAt!: Date | null;

  @Field(() => DateTime, { nullable: true, description: 'When it was read, on channels that report it.' })
  readAt!: Date | null;

  @Field(() => DateTime, {
    nullable: true,
    description:
      'When it will be refunded: it failed, but an earlier attempt may have reached the recipient.',
  })
  refundDueAt!: Date | null;

  @Field(() => DateTime, {
    nullable: true,
    description:
      'Until when quiet hours hold the recipient, or held it. Null if they did not: only marketing is held.',
  })
  heldUntil!: Date | null;
}

@Resolver(() => RecipientType)
export class RecipientResolver {
  @FieldResolver(() => String, { description: 'Address of the recipient.' })
  to(@Root() recipient: Recipient): string {
    return recipient.address;
  }

  @FieldResolver(() => Float, { description: 'Cost of the recipient at acceptance.' })
  cost(@Root() { costMinor, currency }: PricedRecipient): number {
    return fromMinor(costMinor, currency);
  }

  @FieldResolver(() => Money, { description: 'The same cost, exact.' })
  costMoney(@Root() { costMinor, currency }: PricedRecipient): Money {
    return moneyOf(costMinor, currency);
  }

  @FieldResolver(() => Float, {
    description: 'Refunded part of `cost`: all of it if no provider accepted the recipient.',
  })
  refunded(@Root() recipient: PricedRecipient): number {
    return fromMinor(refundedMinor(recipient), recipient.currency);
  }

  @FieldResolver(() => Money, { description: 'The same refund, exact.' })
  refundedMoney(@Root() recipient: PricedRecipient): Money {
    return moneyOf(refundedMinor(recipient), recipient.currency);
  }
}
