import {
  Arg,
  Ctx,
  Field,
  Float,
  ID,
  InputType,
  Int,
  Mutation,
  ObjectType,
  Query,
  Resolver,
} from 'type-graphql';
import type { Environment } from '../domain/caller.ts';
import type { SmsQuote } from '../domain/messages/message-operations.ts';
import { fromMinor } from '../domain/money/money.ts';
import type { GraphqlContext } from './context.ts';
import { EnvironmentEnum } from './enums.ts';
import { given } from './given.ts';
import { MessageType } from './message.graphql.ts';
import { DateTime } from './scalars.ts';

@InputType({ description: 'An SMS to one or more recipients.' })
class SendSmsInput {
  @Field(() => String, { description: 'One number, or several separated by commas.' })
  to!: string;

  @Field(() => String, { description: 'Text, at most 1000 characters.' })
  message!: string;

  @Field(() => String, { nullable: true, description: 'Sender ID, at most 11 letters or digits.' })
  from?: string | null;

  @Field(() => DateTime, {
    nullable: true,
    description: 'When to send it, at most 30 days ahead; now when absent.',
  })
  scheduledFor?: Date | null;

  @Field(() => String, {
    nullable: true,
    description: 'Names the request: the same again within 24 hours sends nothing more.',
  })
  idempotencyKey?: string | null;

  @Field(() => EnvironmentEnum, { nullable: true, description: 'Where to send; PRODUCTION when absent.' })
  environment?: Environment | null;
}

@InputType({ description: 'An SMS to be priced.' })
class EstimateSmsInput {
  @Field(() => String, { description: 'One number, or several separated by commas.' })
  to!: string;

  @Field(() => String, { description: 'Text, at most 1000 characters.' })
  message!: string;
}

@ObjectType('UnicodeCharacter', {
  description: 'A character that GSM-7 does not have.',
  simpleResolvers: true,
})
class UnicodeCharacterType {
  @Field(() => String, { description: 'The character.' })
  char!: string;

  @Field(() => Int, { description: 'Where it stands, in UTF-16 code units from 0.' })
  index!: number;
}

@ObjectType({
  description: 'What an SMS would cost, and what would become of its text and numbers.',
  simpleResolvers: true,
})
class SmsEstimate {
  @Field(() => Int, { description: 'Recipients it would go to.' })
  recipientsProcessed!: number;

  @Field(() => [String], { description: 'What was given and is no number.' })
  invalidNumbers!: readonly string[];

  @Field(() => Int, { description: 'Repeated recipients left out.' })
  duplicatesRemoved!: number;

  @Field(() => String, { description: '`GSM-7` or `UCS-2`.' })
  encoding!: string;

  @Field(() => Int, { description: "The carrier's parts." })
  segments!: number;

  @Field(() => Int, { description: '160-character billing units.' })
  smsCount!: number;

  @Field(() => [UnicodeCharacterType], { description: 'The characters that make it UCS-2.' })
  unicodeCharacters!: SmsQuote['unicodeCharacters'];

  @Field(() => Float, { description: 'What it would cost.' })
  cost!: number;

  @Field(() => String, { description: 'Currency of the cost, ISO 4217.' })
  currency!: string;

  @Field(() => Float, { description: 'The balance now.' })
  balance!: number;

  @Field(() => Boolean, { description: 'Whether the balance covers the cost.' })
  sufficientBalance!: boolean;
}

/** Sending, on behalf of the person who is signed in. */
@Resolver()
export class SendResolver {
  @Query(() => SmsEstimate, { nullable: true, description: 'What an SMS would cost.' })
  async estimateSms(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('input', () => EstimateSmsInput, { description: 'The SMS.' }) input: EstimateSmsInput,
  ) {
    return estimateOf(await run(operations.messages.quoteSms, { ...input }));
  }

  @Mutation(() => MessageType, { description: 'Sends an SMS.' })
  async sendSms(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('input', () => SendSmsInput, { description: 'The SMS.' }) input: SendSmsInput,
  ) {
    const { to, message } = input;
    const scheduledFor = input.scheduledFor?.toISOString();
    const sent = await run(operations.messages.sendSms, { ...given(input), to, message, scheduledFor });
    return run(operations.messageLists.find, { id: sent.messageId });
  }

  @Mutation(() => MessageType, {
    description: 'Cancels a message of which nothing has left, and gives its cost back.',
  })
  async cancelMessage(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('id', () => ID, { description: 'The message.' }) id: string,
  ) {
    return (await run(operations.messages.cancel, { id })).message;
  }
}

function estimateOf({ priced, unicodeCharacters, costMinor, currency, balanceMinor }: SmsQuote): SmsEstimate {
  return {
    recipientsProcessed: priced.recipients.length,
    invalidNumbers: priced.invalidNumbers,
    duplicatesRemoved: priced.duplicatesRemoved,
    encoding: priced.text.encoding,
    segments: priced.text.segments,
    smsCount: priced.text.billingUnits,
    unicodeCharacters,
    cost: fromMinor(costMinor, currency),
    currency,
    balance: fromMinor(balanceMinor, currency),
    sufficientBalance: balanceMinor >= costMinor,
  };
}
