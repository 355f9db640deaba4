import { Ctx, Float, ID, Int, ObjectType, Resolver } from 'type-graphql';
import type { Evidence, MessageExplanation } from '../domain/messages/explain-message.ts';
import type { ExplainedMessage } from '../domain/messages/explain-operations.ts';
import type { Message } from '../domain/messages/message.ts';
import { fromMinor } from '../domain/money/money.ts';
import type { GraphqlContext } from './context.ts';
import { EvidenceKindEnum, MessageActionEnum, MessageCauseEnum } from './enums.ts';
import { MessageType } from './message.graphql.ts';
import { Money, moneyOf } from './money.graphql.ts';
import { Currency, DateTime } from './scalars.ts';
import { Arg, Field, Query } from './typed.ts';

/** Points for an explanation. It reads everything about a message, which may have 1,000 recipients. */
const EXPLANATION_COST = 100;

@ObjectType('ExplainedCause', {
  description: 'A cause, and how many recipients have it.',
  simpleResolvers: true,
})
class ExplainedCauseType {
  @Field(() => MessageCauseEnum, { description: 'The cause.' })
  cause!: MessageExplanation['cause'];

  @Field(() => String, { description: 'The cause in words.' })
  text!: string;

  @Field(() => Int, { description: 'Number of recipients.' })
  recipients!: number;
}

@ObjectType('MessageEvidence', {
  description: 'Something that was seen of a message.',
  simpleResolvers: true,
})
class EvidenceType {
  @Field(() => DateTime, { description: 'When it was seen.' })
  at!: Date;

  @Field(() => EvidenceKindEnum, { description: 'What it is.' })
  kind!: Evidence['kind'];

  @Field(() => String, { nullable: true, description: 'The recipient. Null for the whole message.' })
  recipient!: string | null;

  @Field(() => String, { description: 'What was seen, in words.' })
  text!: string;
}

@ObjectType('MessageAdvice', { description: 'What can be done about a message.', simpleResolvers: true })
class AdviceType {
  @Field(() => MessageActionEnum, { description: 'What can be done.' })
  action!: MessageExplanation['actions'][number]['action'];

  @Field(() => String, { description: 'The same in words.' })
  text!: string;
}

@ObjectType('MessageExplanation', {
  description: 'Why a message is as it is, and what can be done.',
  simpleResolvers: true,
})
class MessageExplanationType {
  @Field(() => MessageType, { description: 'The message.' })
  message!: Message;

  @Field(() => MessageCauseEnum, { description: 'The cause of most recipients.' })
  cause!: MessageExplanation['cause'];

  @Field(() => String, { description: 'The causes of all recipients in words.' })
  summary!: string;

  @Field(() => [ExplainedCauseType], { description: 'The causes, that of most recipients first.' })
  causes!: MessageExplanation['causes'];

  @Field(() => [EvidenceType], { description: 'What shows it: the newest 50, oldest first.' })
  evidence!: MessageExplanation['evidence'];

  @Field(() => [AdviceType], { description: 'What can be done, the best first.' })
  actions!: MessageExplanation['actions'];

  @Field(() => Float, {
    nullable: true,
    description:
      'What sending it again to the recipients that may not have it would cost now. Null without such recipients, without a price, and when the text is erased.',
  })
  retryCost!: number | null;

  @Field(() => Money, { nullable: true, description: 'The same cost, exact.' })
  retryCostMoney!: Money | null;

  @Field(() => Currency, { description: 'Currency of the cost.' })
  currency!: string;
}

/** Explains the state of messages. */
@Resolver()
export class ExplanationResolver {
  @Query(() => MessageExplanationType, {
    nullable: true,
    description: 'Why a message is as it is, what shows it, and what can be done.',
    cost: { each: () => EXPLANATION_COST },
  })
  async explainMessage(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('id', () => ID, { description: 'The message.' }) id: string,
  ) {
    return explanationOf(await run(operations.messages.explain, { id }));
  }
}

function explanationOf({ message, explanation }: ExplainedMessage): MessageExplanationType {
  const { retryCostMinor: minor, ...words } = explanation;
  const { currency } = message;
  return {
    ...words,
    message,
    retryCost: minor === null ? null : fromMinor(minor, currency),
    retryCostMoney: minor === null ? null : moneyOf(minor, currency),
    currency,
  };
}
