import {
  Arg,
  Ctx,
  Field,
  FieldResolver,
  ID,
  InputType,
  Int,
  Mutation,
  ObjectType,
  Query,
  Resolver,
  Root,
} from 'type-graphql';
import type { ApiKey, ScopeUse } from '../domain/api-keys/api-key.ts';
import type { Environment, Scope } from '../domain/caller.ts';
import type { GraphqlContext } from './context.ts';
import { EnvironmentEnum, ScopeEnum } from './enums.ts';
import { given } from './given.ts';
import { DateTime } from './scalars.ts';

/** Keys are a plain list; nobody has this many. */
const ALL_KEYS = { page: 1, limit: 1000 };

@ObjectType({
  description: "A key's own limits; null where the account's plan holds.",
  simpleResolvers: true,
})
class RateLimit {
  @Field(() => Int, { nullable: true, description: 'Requests in any 60 seconds.' })
  perMinute!: number | null;

  @Field(() => Int, { nullable: true, description: 'Requests in any second; 0 for no such limit.' })
  perSecond!: number | null;
}

@ObjectType('ScopeUse', { description: 'When a scope of a key was last needed.', simpleResolvers: true })
class ScopeUseType {
  @Field(() => ScopeEnum, { description: 'The scope.' })
  scope!: Scope;

  @Field(() => DateTime, {
    nullable: true,
    description: 'When it last let a request in, a few seconds late; null for never.',
  })
  lastUsedAt!: Date | null;
}

@ObjectType('ApiKey', { description: 'What a program authenticates with on REST.', simpleResolvers: true })
export class ApiKeyType {
  @Field(() => ID, { description: 'Names the key; safe to log.' })
  keyId!: string;

  @Field(() => String, { description: 'Name given to the key.' })
  name!: string;

  @Field(() => [ScopeEnum], { description: 'What the key may do.' })
  scopes!: readonly Scope[];

  @Field(() => EnvironmentEnum, { description: 'Where the key works.' })
  environment!: Environment;

  @Field(() => Boolean, { description: 'Whether every request must be signed.' })
  enableHmac!: boolean;

  @Field(() => [String], { description: 'CIDRs that may use the key; empty for all.' })
  ipAllowlist!: readonly string[];

  @Field(() => RateLimit, { description: "The key's own limits." })
  rateLimit!: ApiKey['rateLimit'];

  @Field(() => DateTime, { description: 'When the key was created.' })
  createdAt!: Date;

  @Field(() => DateTime, { nullable: true, description: 'When the key ends; null for never.' })
  expiresAt!: Date | null;

  @Field(() => DateTime, { nullable: true, description: 'When the key was last used; a few seconds late.' })
  lastUsedAt!: Date | null;

  @Field(() => DateTime, { nullable: true, description: 'When the key was revoked.' })
  revokedAt!: Date | null;

  @Field(() => DateTime, {
    nullable: true,
    description: 'When another key replaced it: its end can then come sooner, not later.',
  })
  rotatedAt!: Date | null;

  @Field(() => String, {
    description:
      'Who created the key, as `user:…`, `key:…` or `system:…`; a key that replaces another inherits it.',
  })
  createdBy!: string;

  @Field(() => String, {
    description:
      'Who was given the secret, as `createdBy` says it: who created the key, or rotated the one before it.',
  })
  issuedBy!: string;
}

@ObjectType({ description: 'A new key. Its secrets are shown this once.', simpleResolvers: true })
class CreatedApiKey {
  @Field(() => String, { description: 'The whole key, to be sent as X-Api-Key.' })
  key!: string;

  @Field(() => String, {
    nullable: true,
    description: 'What requests are signed with; null unless enableHmac.',
  })
  signingSecret!: string | null;

  @Field(() => ApiKeyType, { description: "The key's record." })
  apiKey!: ApiKey;
}

@InputType({ description: 'A new key.' })
class CreateApiKeyInput {
  @Field(() => String, { description: 'Name to recognise the key by.' })
  name!: string;

  @Field(() => [ScopeEnum], { description: 'What the key may do; at least one scope.' })
  scopes!: Scope[];

  @Field(() => EnvironmentEnum, { description: 'Where the key works.' })
  environment!: Environment;

  @Field(() => Boolean, {
    nullable: true,
    description: 'Whether every request must be signed; no when absent.',
  })
  enableHmac?: boolean | null;

  @Field(() => [String], {
    nullable: true,
    description: 'CIDRs that may use the key; all when absent or empty.',
  })
  ipAllowlist?: string[] | null;

  @Field(() => DateTime, { nullable: true, description: 'When the key ends; never when absent.' })
  expiresAt?: Date | null;

  @Field(() => ID, {
    nullable: true,
    description: 'The account; only for operators, who have none of their own.',
  })
  accountId?: string | null;
}

@InputType({ description: 'What to change of a key; what is absent stays.' })
class UpdateApiKeyInput {
  @Field(() => String, { nullable: true, description: 'Name to recognise the key by.' })
  name?: string | null;

  @Field(() => [ScopeEnum], { nullable: true, description: 'What the key may do; at least one scope.' })
  scopes?: Scope[] | null;

  @Field(() => EnvironmentEnum, { nullable: true, description: 'Where the key works.' })
  environment?: Environment | null;

  @Field(() => [String], { nullable: true, description: 'CIDRs that may use the key; empty for all.' })
  ipAllowlist?: string[] | null;

  @Field(() => DateTime, { nullable: true, description: 'When the key ends; null for never.' })
  expiresAt?: Date | null;
}

@Resolver(() => ApiKeyType)
export class ApiKeyResolver {
  @Query(() => [ApiKeyType], {
    nullable: true,
    description: "The account's keys, the newest first, revoked ones too.",
  })
  async apiKeys(@Ctx() { run, operations }: GraphqlContext) {
    return (await run(operations.apiKeys.list, { page: ALL_KEYS })).rows;
  }

  @Query(() => ApiKeyType, { nullable: true, description: 'One key of the account.' })
  apiKey(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('id', () => ID, { description: 'The keyId.' }) keyId: string,
  ) {
    return run(operations.apiKeyLists.find, { keyId });
  }

  @Mutation(() => CreatedApiKey, { description: 'Creates a key.' })
  createApiKey(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('input', () => CreateApiKeyInput, { description: 'The key.' }) input: CreateApiKeyInput,
  ) {
    return run(operations.apiKeys.create, { ...given(input), expiresAt: input.expiresAt?.toISOString() });
  }

  @Mutation(() => ApiKeyType, { description: 'Changes a key, from the next request on.' })
  updateApiKey(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('keyId', () => ID, { description: 'The key.' }) keyId: string,
    @Arg('input', () => UpdateApiKeyInput, { description: 'What changes.' }) input: UpdateApiKeyInput,
  ) {
    const expiresAt = input.expiresAt === null ? null : input.expiresAt?.toISOString();
    return run(operations.apiKeys.update, { ...given(input), keyId, expiresAt });
  }

  @Mutation(() => CreatedApiKey, { description: 'Issues a key with the same properties and fresh secrets.' })
  rotateApiKey(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('keyId', () => ID, { description: 'The key to be replaced.' }) keyId: string,
    @Arg('overlapSeconds', () => Int, {
      nullable: true,
      description: 'How long the old key still works; 0 when absent.',
    })
    overlapSeconds?: number | null,
  ) {
    return run(operations.apiKeys.rotate, { keyId, overlapSeconds: overlapSeconds ?? undefined });
  }

  @Mutation(() => ApiKeyType, {
    description: 'Revokes a key at once and for good; `descendants` of the answer are what it made.',
  })
  async revokeApiKey(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('keyId', () => ID, { description: 'The key.' }) keyId: string,
    @Arg('withDescendants', () => Boolean, {
      nullable: true,
      description: 'Whether its descendants are revoked, too; no when absent.',
    })
    withDescendants?: boolean | null,
  ) {
    if (!withDescendants) return run(operations.apiKeys.revoke, { keyId });
    return (await run(operations.apiKeys.revokeWithDescendants, { keyId })).apiKey;
  }

  @Mutation(() => ApiKeyType, {
    description: "Sets a key's own limits, or clears them with null. For operators.",
  })
  setRateLimit(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('keyId', () => ID, { description: 'The key.' }) keyId: string,
    @Arg('perMinute', () => Int, {
      nullable: true,
      description: "Requests in any 60 seconds; null for the plan's.",
    })
    perMinute?: number | null,
    @Arg('perSecond', () => Int, {
      nullable: true,
      description: "Requests in any second; null for the plan's.",
    })
    perSecond?: number | null,
  ) {
    const limits = { perMinute: perMinute ?? null, perSecond: perSecond ?? null };
    return run(operations.apiKeys.setRateLimit, { keyId, ...limits });
  }

  @FieldResolver(() => [ScopeUseType], {
    description: 'Every scope of the key with its last use: those that are never used can be taken off it.',
  })
  scopeUse(@Root() key: ApiKey, @Ctx() { loaders }: GraphqlContext): Promise<readonly ScopeUse[]> {
    return loaders.scopeUse.load(key.keyId);
  }

  @FieldResolver(() => [ApiKeyType], {
    description:
      'What the key created or rotated, what these keys created or rotated in turn, and what replaced these; ended ones too, the oldest first.',
  })
  descendants(@Root() key: ApiKey, @Ctx() { loaders }: GraphqlContext): Promise<readonly ApiKey[]> {
    return loaders.descendants.load(key.keyId);
  }
}
