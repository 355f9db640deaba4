import { Args, Ctx, ID, InputType, ObjectType, Resolver, Root } from 'type-graphql';
import type { Environment } from '../domain/caller.ts';
import type { Purpose } from '../domain/messages/message.ts';
import type {
  Registration,
  SenderChannel,
  SenderRecord,
  SenderRecordKind,
  SenderStatus,
} from '../domain/senders/sender.ts';
import { AccountType } from './account.graphql.ts';
import { connection, connectionOf } from './connection.ts';
import type { GraphqlContext } from './context.ts';
import {
  EnvironmentEnum,
  PurposeEnum,
  SenderChannelEnum,
  SenderRecordKindEnum,
  SenderStatusEnum,
} from './enums.ts';
import { given } from './given.ts';
import { DateTime } from './scalars.ts';
import { SliceArgs } from './slice-args.ts';
import { Arg, Field, FieldResolver, InputField, Mutation, Query } from './typed.ts';

@ObjectType('SenderRegistration', {
  description: 'The state of a sender ID at a network that registers sender IDs itself.',
  simpleResolvers: true,
})
class RegistrationType implements Registration {
  @Field(() => String, { description: 'The network, such as `MTN UG`.' })
  network!: string;

  @Field(() => SenderStatusEnum, { description: 'State there.' })
  status!: SenderStatus;

  @Field(() => String, { nullable: true, description: "The network's reference." })
  reference!: string | null;
}

@ObjectType('SenderRecord', {
  description: 'A TXT record of a domain, as it should be and as the last check found it.',
  simpleResolvers: true,
})
class SenderRecordType implements SenderRecord {
  @Field(() => SenderRecordKindEnum, { description: 'What it is for.' })
  kind!: SenderRecordKind;

  @Field(() => String, { description: 'Name of the record.' })
  name!: string;

  @Field(() => String, { description: 'Its text, as it should be.' })
  expected!: string;

  @Field(() => [String], { description: 'What the last check found.' })
  found!: readonly string[];

  @Field(() => Boolean, { description: 'Whether it was right.' })
  isRight!: boolean;
}

@ObjectType('Sender', {
  description:
    'A name under which an account sends: a sender ID of SMS, a domain of email, or a WhatsApp number that an operator assigned.',
  simpleResolvers: true,
})
class SenderType {
  @Field(() => ID, { description: 'Identifier of the sender.' })
  id!: string;

  @Field(() => ID, { description: 'The account that sends under it.' })
  accountId!: string;

  @Field(() => EnvironmentEnum, { description: 'Environment in which it holds.' })
  environment!: Environment;

  @Field(() => SenderChannelEnum, { description: 'Channel.' })
  channel!: SenderChannel;

  @Field(() => String, { nullable: true, description: 'The sender ID of SMS.' })
  senderId!: string | null;

  @Field(() => String, { nullable: true, description: 'The domain of email.' })
  domain!: string | null;

  @Field(() => String, { nullable: true, description: 'The WhatsApp number, in E.164.' })
  number!: string | null;

  @Field(() => String, { nullable: true, description: "WhatsApp's id of the number." })
  phoneNumberId!: string | null;

  @Field(() => SenderStatusEnum, { description: 'Whether it may be used.' })
  status!: SenderStatus;

  @Field(() => [PurposeEnum], { description: 'What it is for.' })
  purposes!: readonly Purpose[];

  @Field(() => String, { nullable: true, description: 'What is sent.' })
  useCase!: string | null;

  @Field(() => String, { nullable: true, description: 'Who sends.' })
  company!: string | null;

  @Field(() => String, { nullable: true, description: "The operator's answer in words." })
  note!: string | null;

  @Field(() => [RegistrationType], { description: 'States at networks that register sender IDs themselves.' })
  registrations!: readonly Registration[];

  @Field(() => [SenderRecordType], { description: 'DNS records of a domain.' })
  records!: readonly SenderRecord[];

  @Field(() => DateTime, { description: 'When it was asked for.' })
  createdAt!: Date;

  @Field(() => DateTime, { nullable: true, description: 'When an operator answered.' })
  reviewedAt!: Date | null;

  @Field(() => DateTime, {
    nullable: true,
    description:
      'When the DNS record proved the domain, or WhatsApp confirmed the number. Null for a number that WhatsApp has not confirmed.',
  })
  verifiedAt!: Date | null;

  @Field(() => DateTime, { nullable: true, description: 'When the DNS was asked last.' })
  checkedAt!: Date | null;
}

@InputType({ description: 'A name to send under: `senderId` for SMS, `domain` for email.' })
class RequestSenderInput {
  @InputField(() => SenderChannelEnum, { description: 'SMS or EMAIL. An operator assigns WhatsApp numbers.' })
  channel!: SenderChannel;

  @InputField(() => String, { nullable: true, description: 'For SMS: 1 to 11 letters A-Z or digits.' })
  senderId?: string | null;

  @InputField(() => String, { nullable: true, description: 'For email: a domain such as `example.com`.' })
  domain?: string | null;

  @InputField(() => [PurposeEnum], { nullable: true, description: 'What it is for. Required for SMS.' })
  purposes?: readonly Purpose[] | null;

  @InputField(() => String, {
    nullable: true,
    description: 'What you send, 1 to 500 characters. Required for SMS.',
  })
  useCase?: string | null;

  @InputField(() => String, {
    nullable: true,
    description: 'Who sends, 1 to 200 characters. Required for SMS.',
  })
  company?: string | null;

  @InputField(() => EnvironmentEnum, { nullable: true, description: 'Environment. Default: PRODUCTION.' })
  environment?: Environment | null;
}

@InputType({ description: 'The state of a sender ID at a network.' })
class RegistrationInput {
  @InputField(() => String, { description: 'The network, at most 40 characters.' })
  network!: string;

  @InputField(() => SenderStatusEnum, { description: 'State there.' })
  status!: SenderStatus;

  @InputField(() => String, {
    nullable: true,
    description: "The network's reference, at most 100 characters.",
  })
  reference?: string | null;
}

const SenderConnection = connectionOf('Sender', () => SenderType);

/** Names under which accounts send (R430). */
@Resolver(() => SenderType)
export class SenderResolver {
  @Query(() => SenderConnection, {
    nullable: true,
    description: 'Senders of one environment, newest first. Operators see those of all accounts.',
  })
  async senders(
    @Ctx() { run, operations }: GraphqlContext,
    @Args(() => SliceArgs) slice: SliceArgs,
    @Arg('channel', () => SenderChannelEnum, { nullable: true, description: 'Channel. Default: all.' })
    channel?: SenderChannel | null,
    @Arg('status', () => SenderStatusEnum, { nullable: true, description: 'Status. Default: all.' })
    status?: SenderStatus | null,
    @Arg('accountId', () => ID, { nullable: true, description: 'The account. Default: your own, or all.' })
    accountId?: string | null,
    @Arg('environment', () => EnvironmentEnum, {
      nullable: true,
      description: 'Environment. Default: PRODUCTION.',
    })
    environment?: Environment | null,
  ) {
    const filter = given({ channel, status, accountId, environment });
    return connection(await run(operations.senders.slice, { ...slice, ...filter }));
  }

  @FieldResolver(() => AccountType, { nullable: true, description: 'The account itself.' })
  account(@Root() { accountId }: SenderType, @Ctx() { loaders }: GraphqlContext) {
    return loaders.account.load(accountId);
  }

  @Query(() => SenderType, { nullable: true, description: 'One sender.' })
  sender(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('id', () => ID, { description: 'The sender.' }) id: string,
  ) {
    return run(operations.senders.get, { id });
  }

  @Mutation(() => SenderType, {
    description: 'Asks for a name to send under. In the sandbox it is approved at once.',
    errors: [],
  })
  requestSender(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('input', () => RequestSenderInput, { description: 'The name.' }) input: RequestSenderInput,
  ) {
    return run(operations.senders.request, { ...given(input), channel: input.channel });
  }

  @Mutation(() => SenderType, {
    description:
      'Looks for the DNS records of a domain now. A pending domain is approved if its verification record is there.',
    errors: ['not_found', 'provider_error'],
  })
  verifySender(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('id', () => ID, { description: 'The sender.' }) id: string,
  ) {
    return run(operations.senders.verify, { id });
  }

  @Mutation(() => Boolean, {
    description: 'Gives a sender up. An operator takes WhatsApp numbers away.',
    errors: ['not_found'],
  })
  async removeSender(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('id', () => ID, { description: 'The sender.' }) id: string,
  ) {
    await run(operations.senders.remove, { id });
    return true;
  }

  @Mutation(() => SenderType, {
    description: 'Answers a request for a sender. For operators.',
    errors: ['not_found'],
  })
  reviewSender(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('id', () => ID, { description: 'The sender.' }) id: string,
    @Arg('status', () => SenderStatusEnum, { description: 'APPROVED or REJECTED.' }) status: SenderStatus,
    @Arg('note', () => String, {
      nullable: true,
      description: 'What the account should know, at most 500 characters.',
    })
    note?: string | null,
  ) {
    return run(operations.senders.review, { id, status, note: note ?? undefined });
  }

  @Mutation(() => SenderType, {
    description: 'Replaces the registrations of a sender ID at networks. For operators.',
    errors: ['not_found'],
  })
  setSenderRegistrations(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('id', () => ID, { description: 'The sender.' }) id: string,
    @Arg('registrations', () => [RegistrationInput], { description: 'At most 20.' })
    registrations: readonly RegistrationInput[],
  ) {
    const all = registrations.map(({ network, status, reference }) => ({
      network,
      status,
      reference: reference ?? null,
    }));
    return run(operations.senders.setRegistrations, { id, registrations: all });
  }

  @Mutation(() => SenderType, {
    description:
      'Assigns a WhatsApp number of the gateway to an account, instead of the one that it has. Messages that wait to leave from an earlier number fail, and are refunded. A number that WhatsApp does not know is refused; if WhatsApp does not answer, `verifiedAt` is null. For operators.',
    errors: ['not_found'],
  })
  assignWhatsAppNumber(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('accountId', () => ID, { description: 'The account.' }) accountId: string,
    @Arg('phoneNumberId', () => String, { description: "WhatsApp's id of the number, 1 to 30 digits." })
    phoneNumberId: string,
    @Arg('number', () => String, { description: 'The number itself, such as `+256700123456`.' })
    number: string,
  ) {
    return run(operations.senders.assignNumber, { accountId, phoneNumberId, number });
  }

  @Mutation(() => Boolean, {
    description:
      'Takes the WhatsApp number of an account away, so that it shares the number of the gateway. Messages that wait to leave from it fail, and are refunded. For operators.',
    errors: ['not_found'],
  })
  async removeWhatsAppNumber(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('accountId', () => ID, { description: 'The account.' }) accountId: string,
  ) {
    await run(operations.senders.removeNumber, { accountId });
    return true;
  }
}
