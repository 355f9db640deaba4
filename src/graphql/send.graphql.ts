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
import { doneButUnread, validationError } from '../domain/errors.ts';
import type { Channel } from '../domain/messages/message.ts';
import type { SmsQuote } from '../domain/messages/sms-operations.ts';
import { fromMinor } from '../domain/money/money.ts';
import type { Operation } from '../domain/operation.ts';
import type { SendAnswer } from '../domain/ports/intake.ts';
import type { GraphqlContext } from './context.ts';
import { given } from './given.ts';
import { MessageType } from './message.graphql.ts';
import {
  SendEmailInput,
  type SendInput,
  SendPushInput,
  SendSmsInput,
  SendWhatsAppInput,
} from './send-inputs.ts';

/** Longest idempotency key (R186). */
const KEY_MAX_LENGTH = 64;

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
  sendSms(
    @Ctx() context: GraphqlContext,
    @Arg('input', () => SendSmsInput, { description: 'The SMS.' }) input: SendSmsInput,
  ) {
    return send(context, 'sms', context.operations.messages.sendSms, input);
  }

  @Mutation(() => MessageType, { description: 'Sends an email.' })
  sendEmail(
    @Ctx() context: GraphqlContext,
    @Arg('input', () => SendEmailInput, { description: 'The email.' }) input: SendEmailInput,
  ) {
    return send(context, 'email', context.operations.messages.sendEmail, input);
  }

  @Mutation(() => MessageType, { description: 'Sends a push notification.' })
  sendPush(
    @Ctx() context: GraphqlContext,
    @Arg('input', () => SendPushInput, { description: 'The push notification.' }) input: SendPushInput,
  ) {
    return send(context, 'push', context.operations.messages.sendPush, input);
  }

  @Mutation(() => MessageType, { description: 'Sends a WhatsApp message.' })
  sendWhatsApp(
    @Ctx() context: GraphqlContext,
    @Arg('input', () => SendWhatsAppInput, { description: 'The message.' }) input: SendWhatsAppInput,
  ) {
    return send(context, 'whatsapp', context.operations.messages.sendWhatsApp, input);
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

/** Sends, or finds what an earlier send with the same idempotency key made (R19). */
async function send<Input extends object>(
  { run, operations }: GraphqlContext,
  channel: Channel,
  operation: Operation<Input, SendAnswer>,
  input: SendInput,
) {
  const { idempotencyKey, environment } = given(input);
  if (idempotencyKey !== undefined && (idempotencyKey === '' || idempotencyKey.length > KEY_MAX_LENGTH)) {
    const message = `must have 1 to ${KEY_MAX_LENGTH} characters`;
    throw validationError([{ path: 'input.idempotencyKey', message }]);
  }
  const earlier =
    idempotencyKey === undefined
      ? undefined
      : await run(operations.messages.replay, { channel, idempotencyKey, environment });
  const request = { ...given(input), scheduledFor: input.scheduledFor?.toISOString() };
  const answer = earlier ?? (await run(operation, request as unknown as Input));
  const { messageId } = answer;
  return run(operations.messageLists.find, { id: messageId }).catch((error) => {
    // It was accepted and charged: a refusal of the read must not ask for it again.
    throw doneButUnread({ messageId }, error);
  });
}

function estimateOf({ text, costMinor, currency, balanceMinor, ...quote }: SmsQuote): SmsEstimate {
  return {
    recipientsProcessed: quote.recipientsProcessed,
    invalidNumbers: quote.invalidNumbers,
    duplicatesRemoved: quote.duplicatesRemoved,
    encoding: text.encoding,
    segments: text.segments,
    smsCount: text.billingUnits,
    unicodeCharacters: quote.unicodeCharacters,
    cost: fromMinor(costMinor, currency),
    currency,
    balance: fromMinor(balanceMinor, currency),
    sufficientBalance: balanceMinor >= costMinor,
  };
}
