import { Args, Ctx, ID, InputType, Int, ObjectType, Resolver, Root } from 'type-graphql';
import type { Environment } from '../domain/caller.ts';
import type { Message } from '../domain/messages/message.ts';
import type { ApiRequest, StatusClass } from '../domain/requests/api-request.ts';
import { ApiKeyType } from './api-key.graphql.ts';
import { connection, connectionOf } from './connection.ts';
import type { GraphqlContext } from './context.ts';
import { weighingFilter } from './cost.ts';
import { EnvironmentEnum, StatusClassEnum } from './enums.ts';
import { given } from './given.ts';
import { MessageType } from './message.graphql.ts';
import { Node } from './node.graphql.ts';
import { DateTime } from './scalars.ts';
import { SliceArgs } from './slice-args.ts';
import { Arg, Field, FieldResolver, InputField, Mutation, Query } from './typed.ts';

@ObjectType('ApiRequest', {
  implements: Node,
  description: 'A request of an API key, of the last 7 days. Under load not every request is kept.',
  simpleResolvers: true,
})
class ApiRequestType {
  @Field(() => ID, { description: 'Identifier in the log.' })
  id!: string;

  @Field(() => DateTime, { description: 'When it was answered.' })
  at!: Date;

  @Field(() => EnvironmentEnum, { description: 'Environment of the key.' })
  environment!: Environment;

  @Field(() => String, { description: 'HTTP method.' })
  method!: string;

  @Field(() => String, {
    description: 'Path without the query. A part that is neither a word of the API nor an id is `***`.',
  })
  path!: string;

  @Field(() => Int, { description: 'HTTP status of the answer.' })
  status!: number;

  @Field(() => String, { nullable: true, description: 'Code of the error. Null if it succeeded.' })
  errorCode!: string | null;

  @Field(() => Int, { description: 'Time to the answer, in milliseconds.' })
  durationMs!: number;

  @Field(() => String, { description: 'IP address of the client.' })
  address!: string;

  @Field(() => String, {
    description: 'The `X-Request-Id` of the answer. A client may use one more than once.',
  })
  requestId!: string;

  @Field(() => String, { nullable: true, description: 'Idempotency key of a send.' })
  idempotencyKey!: string | null;

  @Field(() => ID, { nullable: true, description: 'The message that it sent.' })
  messageId!: string | null;

  @Field(() => Int, { description: 'Length of the body in bytes.' })
  requestBytes!: number;

  @Field(() => String, {
    nullable: true,
    description:
      'Body as JSON, with texts and numbers masked unless `isFull`. Null if there is none, or it is not JSON, or it has more than 16 KiB.',
  })
  requestBody!: string | null;

  @Field(() => String, { nullable: true, description: 'Body of the answer, likewise.' })
  responseBody!: string | null;

  @Field(() => Boolean, { description: 'Whether the bodies are whole. Secrets are masked all the same.' })
  isFull!: boolean;

  @Field(() => Int, {
    description: 'Number of requests with the same outcome before this one that were not kept.',
  })
  skippedBefore!: number;
}

@ObjectType('RequestLogging', { description: 'What the request log keeps.', simpleResolvers: true })
class RequestLoggingType {
  @Field(() => DateTime, {
    nullable: true,
    description: 'Until when bodies are kept whole. Null if texts and numbers are masked.',
  })
  fullBodiesUntil!: Date | null;
}

@InputType({ description: 'Conditions on requests. All that are given must hold.' })
class RequestFilter {
  @InputField(() => StatusClassEnum, { nullable: true, description: 'How it ended.' })
  statusClass?: StatusClass | null;

  @InputField(() => String, { nullable: true, description: 'Code of the error.' })
  errorCode?: string | null;

  @InputField(() => ID, { nullable: true, description: 'The `keyId` of the API key.' })
  apiKeyId?: string | null;

  @InputField(() => String, { nullable: true, description: 'HTTP method.' })
  method?: string | null;

  @InputField(() => String, {
    nullable: true,
    description: 'Beginning of the path, such as `/api/v1/account`.',
  })
  pathPrefix?: string | null;

  @InputField(() => String, { nullable: true, description: 'The `X-Request-Id`.' })
  requestId?: string | null;

  @InputField(() => String, { nullable: true, description: 'The idempotency key.' })
  idempotencyKey?: string | null;

  @InputField(() => EnvironmentEnum, { nullable: true, description: 'The environment. Default: both.' })
  environment?: Environment | null;

  @InputField(() => DateTime, { nullable: true, description: 'Earliest time, inclusive.' })
  since?: Date | null;

  @InputField(() => DateTime, { nullable: true, description: 'Latest time, exclusive.' })
  until?: Date | null;
}

const ApiRequestConnection = connectionOf('ApiRequest', () => ApiRequestType);
/**
 * Filters that no index serves. With one of them, the requests of an account are read one by one. The log stores a
 * bounded number of requests.
 */
const UNINDEXED = [
  'statusClass',
  'errorCode',
  'apiKeyId',
  'method',
  'pathPrefix',
  'idempotencyKey',
  'environment',
];

/** The log of REST requests (R415). */
@Resolver(() => ApiRequestType)
export class RequestResolver {
  @Query(() => ApiRequestConnection, {
    nullable: true,
    description: 'Requests of the API keys of the account, newest first. For developers, admins and owners.',
    cost: { each: weighingFilter(UNINDEXED, 200, 0), total: () => 200 },
  })
  async requests(
    @Ctx() { run, operations }: GraphqlContext,
    @Args(() => SliceArgs) slice: SliceArgs,
    @Arg('filter', () => RequestFilter, { nullable: true, description: 'Default: all.' })
    filter?: RequestFilter | null,
  ) {
    const { apiKeyId: keyId, ...rest } = given(filter);
    return connection(await run(operations.requests.list, { ...slice, filter: { ...rest, keyId } }));
  }

  @Query(() => ApiRequestType, { nullable: true, description: 'One request.' })
  request(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('id', () => ID, { description: 'Identifier in the log.' }) id: string,
  ) {
    return run(operations.requests.find, { id });
  }

  @Query(() => RequestLoggingType, { nullable: true, description: 'What the request log keeps.' })
  async requestLogging(@Ctx() { run, operations }: GraphqlContext): Promise<RequestLoggingType> {
    return { fullBodiesUntil: (await run(operations.requests.logging, {}))?.until ?? null };
  }

  @Mutation(() => RequestLoggingType, {
    description:
      'Keeps the bodies of requests whole for a day from now, or masks them again. For admins and owners. Whole bodies are erased after a day.',
    errors: ['step_up_required'],
  })
  async setRequestLogging(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('fullBodies', () => Boolean, { description: 'Whether to keep bodies whole.' }) fullBodies: boolean,
  ): Promise<RequestLoggingType> {
    const set = await run(operations.requests.setLogging, { fullBodies });
    return { fullBodiesUntil: set?.until ?? null };
  }

  @FieldResolver(() => ApiKeyType, { nullable: true, description: 'The API key.' })
  apiKey(@Root() { keyId }: ApiRequest, @Ctx() { loaders }: GraphqlContext) {
    return loaders.apiKey.load(keyId);
  }

  @FieldResolver(() => MessageType, {
    nullable: true,
    description: 'The message that it sent. Null if it sent none, or the message is no longer kept.',
  })
  message(@Root() { messageId }: ApiRequest, @Ctx() { loaders }: GraphqlContext) {
    return messageId === null ? null : loaders.message.load(messageId);
  }
}

@Resolver(() => MessageType)
export class MessageRequestResolver {
  @FieldResolver(() => ApiRequestType, {
    nullable: true,
    description:
      'The request that sent it. Null if a person sent it, if the log does not have it, and for roles that may not read the log.',
  })
  request(@Root() { id }: Message, @Ctx() { loaders }: GraphqlContext) {
    return loaders.requestOf.load(id);
  }
}
