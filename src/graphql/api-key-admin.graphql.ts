import { Ctx, Float, ID, Int, ObjectType, Resolver, Root } from 'type-graphql';
import type { ApiKey } from '../domain/api-keys/api-key.ts';
import type {
  ApiKeyChange,
  UnusedScope,
  UpdatedApiKeys,
} from '../domain/api-keys/api-key-bulk-operations.ts';
import type { KeyPermissions } from '../domain/api-keys/api-key-operations.ts';
import { KEY_REQUESTS_DAYS, type KeyUsage, type RefusedRequests } from '../domain/api-keys/key-requests.ts';
import type { KeyPreset, ScopeInfo } from '../domain/api-keys/scope-catalog.ts';
import type { Scope } from '../domain/caller.ts';
import type { ItemError } from '../domain/errors.ts';
import { ApiKeyType } from './api-key.graphql.ts';
import type { GraphqlContext } from './context.ts';
import { daysIn } from './cost.ts';
import { RefusalReasonEnum, ScopeEnum, ScopeRiskEnum } from './enums.ts';
import { DateTime } from './scalars.ts';
import { Arg, Field, FieldResolver, Mutation, Query } from './typed.ts';
import { UserErrorType } from './user-error.ts';

const UNUSED_DAYS = 30;
/** Points for `unusedScopes`. It reads all keys of an account. */
const UNUSED_COST = 50;

@ObjectType('ScopeInfo', { description: 'What a scope is for.', simpleResolvers: true })
class ScopeInfoType {
  @Field(() => ScopeEnum, { description: 'The scope.' })
  scope!: Scope;

  @Field(() => String, { description: 'What it allows, in a few words.' })
  title!: string;

  @Field(() => String, { description: 'What it allows, in a sentence.' })
  description!: string;

  @Field(() => [String], {
    description: 'Names of the operations that it admits, such as `message.sendSms`.',
  })
  grants!: readonly string[];

  @Field(() => [ScopeEnum], { description: 'Scopes that admit all of these operations, too.' })
  impliedBy!: readonly Scope[];

  @Field(() => ScopeRiskEnum, { description: 'What a stranger with such a key could do.' })
  risk!: ScopeInfo['risk'];
}

@ObjectType('KeyPreset', { description: 'A template for a key.', simpleResolvers: true })
class KeyPresetType {
  @Field(() => String, { description: 'Its name, which stays the same.' })
  name!: string;

  @Field(() => String, { description: 'What the key is for, in a few words.' })
  title!: string;

  @Field(() => String, { description: 'Who needs such a key.' })
  description!: string;

  @Field(() => [ScopeEnum], { description: 'The scopes of the key.' })
  scopes!: readonly Scope[];
}

@ObjectType('ApiKeyUsage', {
  description: 'Admitted requests of a key on one day for one operation.',
  simpleResolvers: true,
})
class ApiKeyUsageType {
  @Field(() => String, { description: 'The day in UTC, such as `2026-03-01`.' })
  day!: string;

  @Field(() => String, { description: 'The operation, such as `message.sendSms`.' })
  operation!: string;

  @Field(() => Float, { description: 'Number of requests, a few seconds late.' })
  requests!: number;
}

@ObjectType('ApiKeyPermissions', {
  description: 'What the person who asks may do with a key now. Some of it may ask for `stepUp`.',
  simpleResolvers: true,
})
class ApiKeyPermissionsType {
  @Field(() => Boolean, { description: '`updateApiKey`.' })
  update!: boolean;

  @Field(() => Boolean, { description: '`rotateApiKey`.' })
  rotate!: boolean;

  @Field(() => Boolean, { description: '`revokeApiKey`.' })
  revoke!: boolean;

  @Field(() => Boolean, { description: '`setRateLimit`.' })
  setRateLimit!: boolean;
}

@ObjectType('ApiKeyState', {
  description: 'The properties of a key that `updateApiKeys` changes.',
  simpleResolvers: true,
})
class ApiKeyStateType {
  @Field(() => [ScopeEnum], { description: 'Permissions of the key.' })
  scopes!: readonly Scope[];

  @Field(() => [String], { description: 'CIDRs that may use the key. Empty means every address.' })
  ipAllowlist!: readonly string[];

  @Field(() => DateTime, { nullable: true, description: 'When the key expires. Null means never.' })
  expiresAt!: Date | null;
}

@ObjectType('RefusedRequests', {
  description: 'Past requests of a key that it would be refused now.',
  simpleResolvers: true,
})
class RefusedRequestsType {
  @Field(() => String, { description: 'The operation, such as `message.sendSms`.' })
  operation!: string;

  @Field(() => String, {
    nullable: true,
    description: 'Address of the client. Null where it was not recorded.',
  })
  address!: string | null;

  @Field(() => Float, { description: 'Number of requests.' })
  requests!: number;

  @Field(() => String, { description: 'The last day with such a request, such as `2026-03-01`.' })
  lastDay!: string;

  @Field(() => RefusalReasonEnum, { description: 'Why they would be refused.' })
  reason!: RefusedRequests['reason'];
}

@ObjectType('ApiKeyChange', { description: 'A key that was changed.', simpleResolvers: true })
class ApiKeyChangeType {
  @Field(() => ApiKeyType, { description: 'The key, as it is now.' })
  apiKey!: ApiKey;

  @Field(() => ApiKeyStateType, { description: 'What it was.' })
  before!: ApiKey;

  @Field(() => ApiKeyStateType, { description: 'What it is now.' })
  after!: ApiKey;

  @Field(() => [RefusedRequestsType], {
    description: `Requests of the last ${KEY_REQUESTS_DAYS} days that would be refused now and were not before, the most first.`,
  })
  refusedRequests!: ApiKeyChange['refusedRequests'];
}

@ObjectType('UpdatedApiKeys', { description: 'What a change of many keys did.', simpleResolvers: true })
class UpdatedApiKeysType {
  @Field(() => [ApiKeyChangeType], { description: 'The keys that were changed, by `keyId`.' })
  changes!: readonly (ApiKeyChange & { readonly apiKey: ApiKey })[];

  @Field(() => [UserErrorType], {
    description: 'The keys that were left as they are, in the order of `keyIds`.',
  })
  userErrors!: readonly ItemError[];
}

@ObjectType('UnusedScope', { description: 'A scope that a key has and does not use.', simpleResolvers: true })
class UnusedScopeType {
  @Field(() => ApiKeyType, { description: 'The key.' })
  apiKey!: ApiKey;

  @Field(() => ScopeEnum, { description: 'The scope.' })
  scope!: Scope;

  @Field(() => DateTime, { nullable: true, description: 'When it was last used. Null means never.' })
  lastUsedAt!: Date | null;
}

/** Fields for choosing the scopes of an API key, and for seeing what a key is used for. */
@Resolver(() => ApiKeyType)
export class ApiKeyAdminResolver {
  @Query(() => [ScopeInfoType], {
    nullable: true,
    description: 'Every scope, with what it is for and what it admits.',
  })
  scopeCatalog(@Ctx() { run, operations }: GraphqlContext): Promise<readonly ScopeInfo[]> {
    return run(operations.apiKeyBulk.scopeCatalog, {});
  }

  @Query(() => [KeyPresetType], { nullable: true, description: 'Templates for keys.' })
  keyPresets(@Ctx() { run, operations }: GraphqlContext): Promise<readonly KeyPreset[]> {
    return run(operations.apiKeyBulk.presets, {});
  }

  @Query(() => [UnusedScopeType], {
    nullable: true,
    description: 'Scopes that keys have had for some days and have not used since.',
    cost: { each: () => UNUSED_COST },
  })
  async unusedScopes(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('days', () => Int, { nullable: true, description: `From 1 to 365. Default: ${UNUSED_DAYS}.` })
    days?: number | null,
  ) {
    const found = await run(operations.apiKeyBulk.unusedScopes, { days: days ?? UNUSED_DAYS });
    return found.map(({ key, scope, lastUsedAt }: UnusedScope) => ({ apiKey: key, scope, lastUsedAt }));
  }

  @Mutation(() => UpdatedApiKeysType, {
    description:
      'Changes many keys at once: adds and removes scopes, and sets the allowlist and the end. Each key is changed or told in `userErrors`. With `dryRun` it shows which requests of the last 30 days the keys would be refused.',
    canDryRun: true,
    errors: ['step_up_required'],
  })
  async updateApiKeys(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('keyIds', () => [ID], { description: 'The keys, 1 to 100.' }) keyIds: readonly string[],
    @Arg('addScopes', () => [ScopeEnum], { nullable: true, description: 'Scopes that each key gets.' })
    addScopes?: readonly Scope[] | null,
    @Arg('removeScopes', () => [ScopeEnum], { nullable: true, description: 'Scopes that each key loses.' })
    removeScopes?: readonly Scope[] | null,
    @Arg('ipAllowlist', () => [String], {
      nullable: true,
      description: 'CIDRs that may use the keys. Empty means every address. Default: as they are.',
    })
    ipAllowlist?: readonly string[] | null,
    @Arg('expiresAt', () => DateTime, {
      nullable: true,
      description: 'When the keys expire. Null means never. Default: as they are.',
    })
    expiresAt?: Date | null,
  ) {
    const updated: UpdatedApiKeys = await run(operations.apiKeyBulk.updateMany, {
      keyIds,
      addScopes: addScopes ?? undefined,
      removeScopes: removeScopes ?? undefined,
      ipAllowlist: ipAllowlist ?? undefined,
      expiresAt: expiresAt === null ? null : expiresAt?.toISOString(),
    });
    return { ...updated, changes: updated.changes.map((change) => ({ ...change, apiKey: change.after })) };
  }

  @FieldResolver(() => ApiKeyType, {
    nullable: true,
    description: 'The key that this one replaced, by rotation.',
  })
  replaces(@Root() key: ApiKey, @Ctx() { loaders }: GraphqlContext) {
    return key.replaces === null ? null : loaders.apiKey.load(key.replaces);
  }

  @FieldResolver(() => ApiKeyType, {
    nullable: true,
    description: 'The key that replaced this one, by rotation.',
  })
  replacedBy(@Root() key: ApiKey, @Ctx() { loaders }: GraphqlContext) {
    return key.rotatedAt === null ? null : loaders.successor.load(key.keyId);
  }

  @FieldResolver(() => [ApiKeyUsageType], {
    description: `Requests by day and operation, the newest day first. Kept for ${KEY_REQUESTS_DAYS} days.`,
    cost: { each: ({ from, to }) => daysIn(from, to, KEY_REQUESTS_DAYS) },
  })
  usage(
    @Root() { keyId }: ApiKey,
    @Ctx() { loaders }: GraphqlContext,
    @Arg('from', () => DateTime, { description: 'The first day, in UTC.' }) from: Date,
    @Arg('to', () => DateTime, { description: 'The last day, in UTC.' }) to: Date,
  ): Promise<readonly KeyUsage[]> {
    return loaders.keyUsage.load({ keyId, from, to });
  }

  @FieldResolver(() => ApiKeyPermissionsType, {
    description: 'What you may do with the key now, so that a page shows no button in vain.',
  })
  async viewerCan(@Root() key: ApiKey, @Ctx() { loaders }: GraphqlContext): Promise<KeyPermissions> {
    const found = await loaders.keyPermissions.load(key);
    if (!found) throw new Error('the key has no permissions');
    return found;
  }
}
