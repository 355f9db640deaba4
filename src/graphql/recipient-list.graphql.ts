import { Args, Ctx, ID, InputType, Resolver, Root } from 'type-graphql';
import type { Environment } from '../domain/caller.ts';
import { notFound } from '../domain/errors.ts';
import type { Channel, Message, MessageStatus, Recipient } from '../domain/messages/message.ts';
import { SEARCH_REACH } from '../domain/ports/list-stores.ts';
import { searchedConnection, searchedConnectionOf } from './connection.ts';
import type { GraphqlContext } from './context.ts';
import { weighingFilter } from './cost.ts';
import { ChannelEnum, EnvironmentEnum, MessageStatusEnum } from './enums.ts';
import { given } from './given.ts';
import { MessageType } from './message.graphql.ts';
import { RecipientType } from './recipient.graphql.ts';
import { DateTime } from './scalars.ts';
import { TwoWaySliceArgs } from './slice-args.ts';
import { Arg, FieldResolver, InputField, Query } from './typed.ts';

@InputType({ description: 'Conditions on recipients. All that are given must hold.' })
class RecipientFilter {
  @InputField(() => String, {
    nullable: true,
    description: 'The whole address, such as a phone number in any form that a send accepts.',
  })
  address?: string | null;

  @InputField(() => [MessageStatusEnum], {
    nullable: true,
    description: 'The status of the recipient, or one of several.',
  })
  status?: readonly MessageStatus[] | null;

  @InputField(() => String, { nullable: true, description: 'Code of the error of the recipient.' })
  errorCode?: string | null;

  @InputField(() => String, {
    nullable: true,
    description: 'The carrier or provider that accepted or refused the recipient.',
  })
  provider?: string | null;

  @InputField(() => [ChannelEnum], { nullable: true, description: 'The channel, or one of several.' })
  channel?: readonly Channel[] | null;

  @InputField(() => EnvironmentEnum, { nullable: true, description: 'The environment.' })
  environment?: Environment | null;

  @InputField(() => String, { nullable: true, description: 'The sender of the message.' })
  sender?: string | null;

  @InputField(() => ID, { nullable: true, description: 'The `keyId` of the API key that sent the message.' })
  apiKeyId?: string | null;

  @InputField(() => DateTime, { nullable: true, description: 'Earliest time of acceptance, inclusive.' })
  from?: Date | null;

  @InputField(() => DateTime, { nullable: true, description: 'Latest time of acceptance, inclusive.' })
  to?: Date | null;
}

/** Fields of the filter that no index serves. Without an address, messages must then be read one by one. */
const SEARCHES = ['status', 'errorCode', 'provider', 'environment', 'sender', 'apiKeyId'];
const searching = weighingFilter(SEARCHES, 1_000, 0);

const RecipientConnection = searchedConnectionOf('Recipient', () => RecipientType);

/** The recipients of all messages as one list. */
@Resolver(() => RecipientType)
export class RecipientListResolver {
  @Query(() => RecipientConnection, {
    nullable: true,
    description: `Recipients of all messages, those of the newest message first. Without \`address\`, only the newest ${SEARCH_REACH.toLocaleString('en')} messages of each channel between \`from\` and \`to\` are searched, and \`last\` and \`before\` go only with the filters \`channel\`, \`from\` and \`to\`.`,
    cost: {
      each: (args) => weighingFilter(['address'], 20, searching(args))(args),
      total: weighingFilter(['address'], 50, 2_000),
    },
  })
  async recipients(
    @Ctx() { run, operations }: GraphqlContext,
    @Args(() => TwoWaySliceArgs) slice: TwoWaySliceArgs,
    @Arg('filter', () => RecipientFilter, { nullable: true, description: 'Default: all.' })
    filter?: RecipientFilter | null,
  ) {
    return searchedConnection(await run(operations.recipientLists.list, { ...slice, filter: given(filter) }));
  }

  @FieldResolver(() => MessageType, { description: 'The message of the recipient.' })
  async message(@Root() { messageId }: Recipient, @Ctx() { loaders }: GraphqlContext): Promise<Message> {
    const message = await loaders.message.load(messageId);
    if (!message) throw notFound('Message');
    return message;
  }
}
