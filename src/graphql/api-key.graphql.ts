import { Ctx, ID, InputType, Int, ObjectType, Resolver, Root } from 'type-graphql';
import type { ApiKey, ScopeUse } from '../domain/api-keys/api-key.ts';
import type { Environment, Scope } from '../domain/caller.ts';
import type { GraphqlContext } from './context.ts';
import { EnvironmentEnum, ScopeEnum } from './enums.ts';
import { given } from './given.ts';
import { Node } from './node.graphql.ts';
import { DateTime } from './scalars.ts';
import { Arg, Field, FieldResolver, InputField, Mutation, Query } from './typed.ts';

/** A page that holds all keys. No account has more keys than this limit. */
const ALL_KEYS = { page: 1, limit: 1000 };

@ObjectType({
  description: "A key's own request limits. Null where the account's plan applies.",
  simpleResolvers: true,
})
class RateLimit {
  @Field(() => Int, { nullable: true, description: 'Requests in any 60 seconds.' })
  perMinute!: number | null;

  @Field(() => Int, { nullable: true, description: 'Requests in any second. 0 means no limit.' })
  perSecond!: number | null;
}

@ObjectType('ScopeUse', { description: 'A scope of a key and its last use.', simpleResolvers: true })
class ScopeUseType {
  @Field(() => ScopeEnum, { description: 'The scope.' })
  scope!: Scope;

  @Field(() => DateTime, {
    nullable: true,
    description: 'When the scope last admitted a request, a few seconds late. Null means never.',
  })
  lastUsedAt!: Date | null;
}

@ObjectType('ApiKey', {
  implements: Node,
  description: 'Authenticates a program on the REST API.',
  simpleResolvers: true,
})
export class ApiKeyType {
  @Field(() => ID, { description: 'Identifier of the key. Safe to log.' })
  keyId!: string;

  @Field(() => String, { description: 'Name of the key.' })
  name!: string;

  @Field(() => [ScopeEnum], { description: 'Permissions of the key.' })
  scopes!: readonly Scope[];

  @Field(() => EnvironmentEnum, { description: 'Environment of the key.' })
  environment!: Environment;

  @Field(() => Boolean, { description: 'Whether every request must be signed.' })
  enableHmac!: boolean;

  @Field(() => [String], { description: 'CIDRs that may use the key. Empty means every address.' })
  ipAllowlist!: readonly string[];

  @Field(() => RateLimit, { description: "The key's own request limits." })
  rateLimit!: ApiKey['rateLimit'];

  @Field(() => DateTime, { description: 'When the key was created.' })
  createdAt!: Date;

  @Field(() => DateTime, { nullable: true, description: 'When the key expires. Null means never.' })
  expiresAt!: Date | null;

  @Field(() => DateTime, { nullable: true, description: 'When the key was last used, a few seconds late.' })
  lastUsedAt!: Date | null;

  @Field(() => DateTime, { nullable: true, description: 'When the key was revoked.' })
  revokedAt!: Date | null;

  @Field(() => DateTime, {
    nullable: true,
    description: 'When another key replaced it. From then on its expiry can only move earlier.',
  })
  rotatedAt!: Date | null;

  @Field(() => String, {
    description:
      'Who created the key: `user:…`, `key:…` or `system:…`. A key that replaces another inherits it. `creator` is the same as an object.',
  })
  createdBy!: string;
}

@ObjectType({ description: 'A new key. Its secrets are shown only here.', simpleResolvers: true })
class CreatedApiKey {
  @Field(() => String, { description: 'The whole key. Send it as `X-Api-Key`.' })
  key!: string;

  @Field(() => String, {
    nullable: true,
    description: 'Secret that signs requests. Null unless `enableHmac`.',
  })
  signingSecret!: string | null;

  @Field(() => ApiKeyType, { description: 'The key.' })
  apiKey!: ApiKey;
}

@InputType({ description: 'A new key.' })
class CreateApiKeyInput {
  @InputField(() => String, { description: 'Name, to recognise the key.' })
  name!: string;

  @InputField(() => [ScopeEnum], { description: 'Permissions; at least one.' })
  scopes!: readonly Scope[];

  @InputField(() => EnvironmentEnum, { description: 'Environment of the key.' })
  environment!: Environment;

  @InputField(() => Boolean, {
    nullable: true,
    description: 'Whether every request must be signed. Default: false.',
  })
  enableHmac?: boolean | null;

  @InputField(() => [String], {
    nullable: true,
    description: 'CIDRs that may use the key. Default: every address.',
  })
  ipAllowlist?: readonly string[] | null;

  @InputField(() => DateTime, { nullable: true, description: 'When the key expires. Default: never.' })
  expiresAt?: Date | null;

  @InputField(() => ID, {
    nullable: true,
    description: 'The account. Only for operators, who belong to none.',
  })
  accountId?: string | null;
}

@InputType({ description: 'Changes of a key. Absent fields stay as they are.' })
class UpdateApiKeyInput {
  @InputField(() => String, { nullable: true, description: 'Name, to recognise the key.' })
  name?: string | null;

  @InputField(() => [ScopeEnum], { nullable: true, description: 'Permissions; at least one.' })
  scopes?: readonly Scope[] | null;

  @InputField(() => EnvironmentEnum, { nullable: true, description: 'Environment of the key.' })
  environment?: Environment | null;

  @InputField(() => [String], {
    nullable: true,
    description: 'CIDRs that may use the key. Empty means every address.',
  })
  ipAllowlist?: readonly string[] | null;

  @InputField(() => DateTime, { nullable: true, description: 'When the key expires. Null means never.' })
  expiresAt?: Date | null;
}

@Resolver(() => ApiKeyType)
export class ApiKeyResolver {
  @Query(() => [ApiKeyType], {
    nullable: true,
    description: "The account's keys, newest first, including revoked ones.",
  })
  async apiKeys(@Ctx() { run, operations }: GraphqlContext) {
    return (await run(operations.apiKeys.list, { page: ALL_KEYS })).rows;
  }

  @Query(() => ApiKeyType, { nullable: true, description: 'One API key.' })
  apiKey(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('id', () => ID, { description: 'The `keyId`.' }) keyId: string,
  ) {
    return run(operations.apiKeyLists.find, { keyId });
  }

  @Mutation(() => CreatedApiKey, {
    description: 'Creates a key.',
    canDryRun: true,
    errors: ['not_found', 'step_up_required'],
  })
  createApiKey(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('input', () => CreateApiKeyInput, { description: 'The key.' }) input: CreateApiKeyInput,
  ) {
    return run(operations.apiKeys.create, { ...given(input), expiresAt: input.expiresAt?.toISOString() });
  }

  @Mutation(() => ApiKeyType, {
    description: 'Changes a key. The next request is checked against the change.',
    canDryRun: true,
    errors: ['not_found', 'key_ended', 'step_up_required'],
  })
  updateApiKey(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('keyId', () => ID, { description: 'The key.' }) keyId: string,
    @Arg('input', () => UpdateApiKeyInput, { description: 'What changes.' }) input: UpdateApiKeyInput,
  ) {
    const expiresAt = input.expiresAt === null ? null : input.expiresAt?.toISOString();
    return run(operations.apiKeys.update, { ...given(input), keyId, expiresAt });
  }

  @Mutation(() => CreatedApiKey, {
    description: 'Replaces a key by one with the same properties and new secrets.',
    canDryRun: true,
    errors: ['not_found', 'key_ended', 'step_up_required'],
  })
  rotateApiKey(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('keyId', () => ID, { description: 'The key to replace.' }) keyId: string,
    @Arg('overlapSeconds', () => Int, {
      nullable: true,
      description: 'Seconds for which the old key still works. Default: 0.',
    })
    overlapSeconds?: number | null,
  ) {
    return run(operations.apiKeys.rotate, { keyId, overlapSeconds: overlapSeconds ?? undefined });
  }

  @Mutation(() => ApiKeyType, {
    description: 'Revokes a key at once and forever.',
    canDryRun: true,
    errors: ['not_found'],
  })
  async revokeApiKey(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('keyId', () => ID, { description: 'The key.' }) keyId: string,
    @Arg('withDescendants', () => Boolean, {
      nullable: true,
      description: 'Whether to revoke its `descendants` too. Default: false.',
    })
    withDescendants?: boolean | null,
  ) {
    if (!withDescendants) return run(operations.apiKeys.revoke, { keyId });
    return (await run(operations.apiKeys.revokeWithDescendants, { keyId })).apiKey;
  }

  @Mutation(() => ApiKeyType, {
    description: "Sets a key's own request limits, or clears them with null. For operators.",
    canDryRun: true,
    errors: ['not_found', 'key_ended'],
  })
  setRateLimit(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('keyId', () => ID, { description: 'The key.' }) keyId: string,
    @Arg('perMinute', () => Int, {
      nullable: true,
      description: 'Requests in any 60 seconds. Null: the limit of the plan.',
    })
    perMinute?: number | null,
    @Arg('perSecond', () => Int, {
      nullable: true,
      description: 'Requests in any second. Null: the limit of the plan.',
    })
    perSecond?: number | null,
  ) {
    const limits = { perMinute: perMinute ?? null, perSecond: perSecond ?? null };
    return run(operations.apiKeys.setRateLimit, { keyId, ...limits });
  }

  @FieldResolver(() => ID, { description: 'Identifier of the key: its `keyId`.' })
  id(@Root() key: ApiKey): string {
    return key.keyId;
  }

  @FieldResolver(() => [ScopeUseType], {
    description: 'Each scope of the key with its last use.',
  })
  scopeUse(@Root() key: ApiKey, @Ctx() { loaders }: GraphqlContext): Promise<readonly ScopeUse[]> {
    return loaders.scopeUse.load(key.keyId);
  }

  @FieldResolver(() => [ApiKeyType], {
    description:
      'Keys that this key created or rotated, and the descendants of those, oldest first. Ended keys are included.',
  })
  descendants(@Root() key: ApiKey, @Ctx() { loaders }: GraphqlContext): Promise<readonly ApiKey[]> {
    return loaders.descendants.load(key.keyId);
  }
}
