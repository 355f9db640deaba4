import { Ctx, Float, ID, InputType, Int, ObjectType, Resolver } from 'type-graphql';
import { doneButUnread, validationError } from '../domain/errors.ts';
import type { Channel, Purpose } from '../domain/messages/message.ts';
import type { SmsQuote } from '../domain/messages/sms-operations.ts';
import { fromMinor } from '../domain/money/money.ts';
import type { Operation } from '../domain/operation.ts';
import type { SendAnswer } from '../domain/ports/intake.ts';
import type { GraphqlContext } from './context.ts';
import { PurposeEnum } from './enums.ts';
import { given } from './given.ts';
import { MessageType } from './message.graphql.ts';
import { Money, moneyOf } from './money.graphql.ts';
import { Currency, DateTime } from './scalars.ts';
import {
  SendEmailInput,
  type SendInput,
  SendPushInput,
  SendSmsInput,
  SendWhatsAppInput,
} from './send-inputs.ts';
import { Arg, Field, InputField, Mutation, Query } from './typed.ts';

/** Longest idempotency key, in characters (R186). */
const KEY_MAX_LENGTH = 64;

@InputType({ description: 'An SMS to estimate.' })
class EstimateSmsInput {
  @InputField(() => String, { description: 'One number, or several separated by commas.' })
  to!: string;

  @InputField(() => String, { description: 'Text, at most 1000 characters.' })
  message!: string;

  @InputField(() => PurposeEnum, { nullable: true, description: 'What it is for. Default: TRANSACTIONAL.' })
  purpose?: Purpose | null;
}

@ObjectType('UnicodeCharacter', {
  description: 'A character that is not in GSM-7.',
  simpleResolvers: true,
})
class UnicodeCharacterType {
  @Field(() => String, { description: 'The character.' })
  char!: string;

  @Field(() => Int, { description: 'Position in the text, in UTF-16 code units from 0.' })
  index!: number;
}

@ObjectType({
  description: 'The cost of an SMS, and how its text and numbers would be handled.',
  simpleResolvers: true,
})
class SmsEstimate {
  @Field(() => Int, { description: 'Number of recipients.' })
  recipientsProcessed!: number;

  @Field(() => [String], { description: 'Given values that are no phone numbers.' })
  invalidNumbers!: readonly string[];

  @Field(() => Int, { description: 'Repeated recipients removed.' })
  duplicatesRemoved!: number;

  @Field(() => DateTime, {
    nullable: true,
    description: 'When the last recipient that quiet hours hold would leave. Null if they hold none.',
  })
  heldUntil!: Date | null;

  @Field(() => String, { description: '`GSM-7` or `UCS-2`.' })
  encoding!: string;

  @Field(() => Int, { description: "The carrier's parts." })
  segments!: number;

  @Field(() => Int, { description: '160-character billing units.' })
  smsCount!: number;

  @Field(() => [UnicodeCharacterType], { description: 'The characters that require UCS-2.' })
  unicodeCharacters!: SmsQuote['unicodeCharacters'];

  @Field(() => Float, { description: 'Cost of the SMS.' })
  cost!: number;

  @Field(() => Money, { description: 'The same cost, exact.' })
  costMoney!: Money;

  @Field(() => Currency, { description: 'Currency of the cost.' })
  currency!: string;

  @Field(() => Float, { description: 'Current balance.' })
  balance!: number;

  @Field(() => Money, { description: 'The same balance, exact.' })
  balanceMoney!: Money;

  @Field(() => Boolean, { description: 'Whether the balance covers the cost.' })
  sufficientBalance!: boolean;
}

/** The errors that a send can have on any channel. */
const OF_EACH_SEND = [
  'rate_limit_exceeded',
  'invalid_scheduled_time',
  'unpriced_destination',
  'insufficient_balance',
  'spend_limit_reached',
  'all_recipients_suppressed',
] as const;

/** Sends messages on behalf of the signed-in person. */
@Resolver()
export class SendResolver {
  @Query(() => SmsEstimate, { nullable: true, description: 'Estimates the cost of an SMS. Nothing is sent.' })
  async estimateSms(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('input', () => EstimateSmsInput, { description: 'The SMS.' }) input: EstimateSmsInput,
  ) {
    return estimateOf(await run(operations.messages.quoteSms, given(input)));
  }

  @Mutation(() => MessageType, {
    description: 'Sends an SMS.',
    canDryRun: true,
    errors: [
      ...OF_EACH_SEND,
      'invalid_phone_number',
      'invalid_sender_id',
      'message_too_long',
      'sender_not_approved',
    ],
  })
  sendSms(
    @Ctx() context: GraphqlContext,
    @Arg('input', () => SendSmsInput, { description: 'The SMS.' }) input: SendSmsInput,
  ) {
    return send(context, 'sms', context.operations.messages.sendSms, input);
  }

  @Mutation(() => MessageType, {
    description: 'Sends an email.',
    canDryRun: true,
    errors: [...OF_EACH_SEND, 'sender_not_approved'],
  })
  sendEmail(
    @Ctx() context: GraphqlContext,
    @Arg('input', () => SendEmailInput, { description: 'The email.' }) input: SendEmailInput,
  ) {
    return send(context, 'email', context.operations.messages.sendEmail, input);
  }

  @Mutation(() => MessageType, {
    description: 'Sends a push notification.',
    canDryRun: true,
    errors: [...OF_EACH_SEND, 'no_target_devices'],
  })
  sendPush(
    @Ctx() context: GraphqlContext,
    @Arg('input', () => SendPushInput, { description: 'The push notification.' }) input: SendPushInput,
  ) {
    return send(context, 'push', context.operations.messages.sendPush, input);
  }

  @Mutation(() => MessageType, {
    description: 'Sends a WhatsApp message.',
    canDryRun: true,
    errors: [...OF_EACH_SEND, 'invalid_phone_number', 'session_window_closed'],
  })
  sendWhatsApp(
    @Ctx() context: GraphqlContext,
    @Arg('input', () => SendWhatsAppInput, { description: 'The message.' }) input: SendWhatsAppInput,
  ) {
    return send(context, 'whatsapp', context.operations.messages.sendWhatsApp, input);
  }

  @Mutation(() => MessageType, {
    description:
      'Sends a message again as it was, as a new message. It costs what a new message costs. Not for push messages.',
    canDryRun: true,
    errors: [
      ...OF_EACH_SEND,
      'not_found',
      'invalid_phone_number',
      'invalid_sender_id',
      'message_too_long',
      'session_window_closed',
      'sender_not_approved',
    ],
  })
  async resendMessage(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('id', () => ID, { description: 'The message.' }) id: string,
    @Arg('onlyFailed', () => Boolean, {
      defaultValue: true,
      description: 'Whether only to the recipients that failed. False: to all that are not pending.',
    })
    onlyFailed: boolean,
    @Arg('idempotencyKey', () => String, {
      nullable: true,
      description: 'Repeats with the same key send nothing and return the same message.',
    })
    given: string | null | undefined,
  ) {
    const idempotencyKey = checkKey(given ?? undefined, 'idempotencyKey');
    const { messageId } = await run(operations.messages.resend, { id, onlyFailed, idempotencyKey });
    return sent({ run, operations }, messageId);
  }

  @Mutation(() => MessageType, {
    description: 'Cancels a message that has not left yet, and refunds its cost.',
    canDryRun: true,
    errors: ['not_found', 'message_not_cancelable'],
  })
  async cancelMessage(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('id', () => ID, { description: 'The message.' }) id: string,
  ) {
    return (await run(operations.messages.cancel, { id })).message;
  }
}

/** Sends a message, or returns the message of an earlier send with the same idempotency key (R19). */
async function send<Input extends object>(
  { run, operations }: GraphqlContext,
  channel: Channel,
  operation: Operation<Input, SendAnswer>,
  input: SendInput,
) {
  const { environment, ...rest } = given(input);
  const idempotencyKey = checkKey(rest.idempotencyKey, 'input.idempotencyKey');
  const earlier =
    idempotencyKey === undefined
      ? undefined
      : await run(operations.messages.replay, { channel, idempotencyKey, environment });
  const request = { ...given(input), scheduledFor: input.scheduledFor?.toISOString() };
  const { messageId } = earlier ?? (await run(operation, request as unknown as Input));
  return sent({ run, operations }, messageId);
}

/** Reads a message that was sent. */
function sent({ run, operations }: Pick<GraphqlContext, 'run' | 'operations'>, messageId: string) {
  return run(operations.messageLists.find, { id: messageId }).catch((error) => {
    // The message is already accepted and charged. If reading it fails now, the client must not send it again.
    throw doneButUnread({ messageId }, error);
  });
}

/** Returns an idempotency key. Throws `validation_error` for one of a wrong length. */
function checkKey(key: string | undefined, path: string): string | undefined {
  if (key === undefined || (key !== '' && key.length <= KEY_MAX_LENGTH)) return key;
  throw validationError([{ path, message: `must have 1 to ${KEY_MAX_LENGTH} characters` }]);
}

function estimateOf({ text, costMinor, currency, balanceMinor, ...quote }: SmsQuote): SmsEstimate {
  return {
    recipientsProcessed: quote.recipientsProcessed,
    invalidNumbers: quote.invalidNumbers,
    duplicatesRemoved: quote.duplicatesRemoved,
    heldUntil: quote.heldUntil,
    encoding: text.encoding,
    segments: text.segments,
    smsCount: text.billingUnits,
    unicodeCharacters: quote.unicodeCharacters,
    cost: fromMinor(costMinor, currency),
    costMoney: moneyOf(costMinor, currency),
    currency,
    balance: fromMinor(balanceMinor, currency),
    balanceMoney: moneyOf(balanceMinor, currency),
    sufficientBalance: balanceMinor >= costMinor,
  };
}
