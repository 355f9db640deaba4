import { Ctx, ID, InputType, Int, ObjectType, Resolver } from 'type-graphql';
import type { AccessToken } from '../domain/people/access-token.ts';
import type { CreateAccessTokenInput as NewAccessToken } from '../domain/people/access-token-operations.ts';
import { AccountType } from './account.graphql.ts';
import { AlertType } from './alert.graphql.ts';
import { type GraphqlContext, sessionOf } from './context.ts';
import { RecoveryCodesType, UserType } from './member.graphql.ts';
import { DateTime, JsonObject } from './scalars.ts';
import { Arg, Field, Mutation, Query } from './typed.ts';

@ObjectType('SecondFactor', {
  description: 'What a person shows besides the password.',
  simpleResolvers: true,
})
class SecondFactorType {
  @Field(() => ID, { description: 'Identifier of the factor.' })
  id!: string;

  @Field(() => String, { description: '`totp`: an authenticator app; `passkey`: a passkey.' })
  kind!: string;

  @Field(() => String, { description: 'Name that the person gave it.' })
  name!: string;

  @Field(() => DateTime, { description: 'When it was added.' })
  createdAt!: Date;

  @Field(() => DateTime, { nullable: true, description: 'When a code of it was last taken.' })
  lastUsedAt!: Date | null;
}

@ObjectType({ description: 'A TOTP app that was begun; `confirmTotp` adds it.', simpleResolvers: true })
class StartedTotp {
  @Field(() => String, { description: 'Secret in base32, for who cannot scan.' })
  secret!: string;

  @Field(() => String, { description: '`otpauth:` address, to be shown as a QR code.' })
  uri!: string;
}

@ObjectType('PersonSession', { description: 'A session of the person who asks.', simpleResolvers: true })
class PersonSessionType {
  @Field(() => ID, { description: 'Identifier, for `endSession`.' })
  id!: string;

  @Field(() => Boolean, { description: 'Whether it is the one that asks.' })
  current!: boolean;

  @Field(() => DateTime, { description: 'When the person signed in.' })
  createdAt!: Date;

  @Field(() => DateTime, { description: 'When it was last used, to the minute.' })
  lastSeenAt!: Date;

  @Field(() => DateTime, { description: 'When it ends unless it is used before.' })
  expiresAt!: Date;

  @Field(() => String, { description: 'Address from which the person signed in.' })
  address!: string;

  @Field(() => String, { description: 'Browser and system, such as `Firefox on Linux`.' })
  device!: string;

  @Field(() => String, {
    nullable: true,
    description: 'Country from which the person signed in, ISO 3166-1 alpha-2. Null if it is not known.',
  })
  country!: string | null;

  @Field(() => Boolean, {
    description:
      'Whether the person signed in at an identity provider. `startSingleSignOn` confirms them then.',
  })
  singleSignOn!: boolean;
}

@ObjectType('AccessToken', {
  description: 'Lets a program do a part of what a person may do, without signing in.',
  simpleResolvers: true,
})
class AccessTokenType {
  @Field(() => ID, { description: 'Identifier of the token.' })
  id!: string;

  @Field(() => String, { description: 'Name that the person gave it.' })
  name!: string;

  @Field(() => [String], {
    description: 'Operations that it may run, as far as the role of the person goes.',
  })
  permissions!: readonly string[];

  @Field(() => DateTime, { description: 'When it was made.' })
  createdAt!: Date;

  @Field(() => DateTime, { description: 'When it ends.' })
  expiresAt!: Date;

  @Field(() => DateTime, { nullable: true, description: 'When it was last used, to the minute.' })
  lastUsedAt!: Date | null;

  @Field(() => DateTime, { nullable: true, description: 'When it was revoked; null while it is not.' })
  revokedAt!: Date | null;
}

@InputType({ description: 'What an access token is to have.' })
class CreateAccessTokenInput implements NewAccessToken {
  @Field(() => String, { description: 'Name, at most 100 characters.' })
  name!: string;

  @Field(() => [String], { description: 'Operations that it may run, of those that `permissions` lists.' })
  permissions!: readonly string[];

  @Field(() => String, { description: 'When it ends, ISO 8601; at most a year ahead.' })
  expiresAt!: string;
}

@ObjectType({ description: 'An access token that was made.', simpleResolvers: true })
class CreatedAccessToken {
  @Field(() => String, { description: 'The token, shown this once; sent as `Authorization: Bearer`.' })
  token!: string;

  @Field(() => AccessTokenType, { description: 'What is kept of it.' })
  accessToken!: AccessToken;
}

/** Fields for a person's own sign-in: second factors, sessions and access tokens. */
@Resolver()
export class PersonResolver {
  @Query(() => [SecondFactorType], { nullable: true, description: 'Second factors of the person who asks.' })
  factors(@Ctx() { run, operations }: GraphqlContext) {
    return run(operations.secondFactors.list, {});
  }

  @Query(() => Int, { nullable: true, description: 'Recovery codes that the person who asks has left.' })
  recoveryCodesLeft(@Ctx() { run, operations }: GraphqlContext) {
    return run(operations.secondFactors.countRecoveryCodes, {});
  }

  @Mutation(() => StartedTotp, {
    description: 'Begins to add an authenticator app; `confirmTotp` adds it.',
    errors: ['step_up_required'],
  })
  startTotp(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('name', () => String, { nullable: true, description: 'Name of the app, at most 50 characters.' })
    name?: string | null,
  ) {
    return run(operations.secondFactors.startTotp, { name: name ?? undefined });
  }

  @Mutation(() => RecoveryCodesType, {
    description:
      'Adds the authenticator app that was begun, and ends the other sessions of the person. The recovery codes replace those before.',
    errors: ['rate_limit_exceeded', 'step_up_required'],
  })
  confirmTotp(
    @Ctx() context: GraphqlContext,
    @Arg('code', () => String, { description: 'The six digits that the app shows.' }) code: string,
  ) {
    const { tokenHash: sessionHash } = sessionOf(context);
    return context.run(context.operations.secondFactors.confirmTotp, { code, sessionHash });
  }

  @Mutation(() => JsonObject, {
    description:
      'Begins to add a passkey: creation options of WebAuthn, as JSON, for the browser. `finishPasskey` adds it.',
    errors: ['step_up_required'],
  })
  startPasskey(@Ctx() { run, operations }: GraphqlContext) {
    return run(operations.secondFactors.startPasskey, {});
  }

  @Mutation(() => RecoveryCodesType, {
    description:
      'Adds the passkey, and ends the other sessions of the person. With the first second factor come ten recovery codes, otherwise none.',
    errors: ['step_up_required'],
  })
  finishPasskey(
    @Ctx() context: GraphqlContext,
    @Arg('passkey', () => JsonObject, { description: 'What the browser made of the options, as JSON.' })
    answer: Readonly<Record<string, unknown>>,
    @Arg('name', () => String, { nullable: true, description: 'Name of the passkey, at most 50 characters.' })
    name?: string | null,
  ) {
    const { tokenHash: sessionHash } = sessionOf(context);
    const input = { answer, name: name ?? undefined, sessionHash };
    return context.run(context.operations.secondFactors.finishPasskey, input);
  }

  @Mutation(() => RecoveryCodesType, {
    description: 'Ten new recovery codes; those before end.',
    errors: ['step_up_required'],
  })
  renewRecoveryCodes(@Ctx() { run, operations }: GraphqlContext) {
    return run(operations.secondFactors.renewRecoveryCodes, {});
  }

  @Mutation(() => Boolean, {
    description: 'Removes a second factor of the person who asks, and ends their other sessions.',
    canDryRun: true,
    errors: ['not_found', 'step_up_required'],
  })
  async removeFactor(
    @Ctx() context: GraphqlContext,
    @Arg('id', () => ID, { description: 'The factor.' }) id: string,
  ) {
    const { tokenHash: sessionHash } = sessionOf(context);
    await context.run(context.operations.secondFactors.remove, { id, sessionHash });
    return true;
  }

  @Mutation(() => UserType, {
    description:
      'Removes the second factors of a person who has lost them, and ends their sessions: for owners, those of other members; for operators, those of members. For an operator: `requestOperatorReset`.',
    canDryRun: true,
    errors: ['not_found', 'step_up_required'],
  })
  resetFactors(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('userId', () => ID, { description: 'The person.' }) userId: string,
  ) {
    return run(operations.secondFactors.reset, { userId });
  }

  @Mutation(() => AccountType, {
    description: 'Whether the members of the account must have a second factor, from their next request on.',
    canDryRun: true,
    errors: ['not_found', 'step_up_required'],
  })
  setSecurityPolicy(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('requireSecondFactor', () => Boolean, { description: 'Whether they must.' })
    requireSecondFactor: boolean,
  ) {
    return run(operations.accounts.setSecurityPolicy, { requireSecondFactor });
  }

  @Mutation(() => Boolean, {
    description:
      'Confirms who the person is, for 10 minutes: by a code where they have a second factor, else by the password. What moves money or access asks for it with STEP_UP_REQUIRED.',
    errors: ['rate_limit_exceeded', 'step_up_required'],
  })
  async stepUp(
    @Ctx() context: GraphqlContext,
    @Arg('code', () => String, { nullable: true, description: 'A code of the second factor.' })
    code?: string | null,
    @Arg('password', () => String, { nullable: true, description: 'The password, without a second factor.' })
    password?: string | null,
    @Arg('passkey', () => JsonObject, {
      nullable: true,
      description: 'What a passkey made of the options of `startPasskeySignIn`.',
    })
    passkey?: Readonly<Record<string, unknown>> | null,
  ) {
    const shown = {
      code: code ?? undefined,
      password: password ?? undefined,
      passkey: passkey ?? undefined,
    };
    await context.sessions.stepUp(sessionOf(context), shown, context.client);
    return true;
  }

  @Query(() => [PersonSessionType], {
    nullable: true,
    description: 'Sessions of the person who asks that have not ended, the newest first.',
  })
  sessions(@Ctx() context: GraphqlContext) {
    const { tokenHash: sessionHash } = sessionOf(context);
    return context.run(context.operations.personSessions.list, { sessionHash });
  }

  @Mutation(() => Boolean, { description: 'Ends a session of the person who asks.', errors: ['not_found'] })
  async endSession(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('id', () => ID, { description: 'The session.' }) id: string,
  ) {
    await run(operations.personSessions.end, { id });
    return true;
  }

  @Mutation(() => Boolean, {
    description: 'Ends every session of the person but the one that asks.',
    canDryRun: true,
    errors: [],
  })
  async endOtherSessions(@Ctx() context: GraphqlContext) {
    const { tokenHash: sessionHash } = sessionOf(context);
    await context.run(context.operations.personSessions.endOthers, { sessionHash });
    return true;
  }

  @Mutation(() => AlertType, {
    description:
      'Confirms that the person who asks signed in from a new country. Resolves the alert about that sign-in.',
    errors: ['not_found'],
  })
  confirmSignIn(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('alertId', () => ID, { description: 'The alert, of the kind `SIGN_IN_NEW_COUNTRY`.' })
    alertId: string,
  ) {
    return run(operations.personSessions.confirmSignIn, { alertId });
  }

  @Query(() => [AccessTokenType], {
    nullable: true,
    description: 'Access tokens of the person who asks, the newest first, ended ones too.',
  })
  accessTokens(@Ctx() { run, operations }: GraphqlContext) {
    return run(operations.accessTokens.list, {});
  }

  @Mutation(() => CreatedAccessToken, {
    description: 'Makes a token with a part of what the person may do over GraphQL.',
    canDryRun: true,
    errors: ['step_up_required'],
  })
  createAccessToken(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('input', () => CreateAccessTokenInput, { description: 'What it is to have.' })
    input: CreateAccessTokenInput,
  ) {
    return run(operations.accessTokens.create, input);
  }

  @Mutation(() => AccessTokenType, {
    description: 'Ends an access token of the person who asks, at once.',
    canDryRun: true,
    errors: ['not_found'],
  })
  revokeAccessToken(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('id', () => ID, { description: 'The token.' }) id: string,
  ) {
    return run(operations.accessTokens.revoke, { id });
  }
}
