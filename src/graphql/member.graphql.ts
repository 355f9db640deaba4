import { Ctx, ID, ObjectType, Resolver, Root } from 'type-graphql';
import type { SignedIn } from '../domain/accounts/sessions.ts';
import { invitationExpiresAt, type User } from '../domain/accounts/user.ts';
import type { ApiKey } from '../domain/api-keys/api-key.ts';
import type { Role } from '../domain/caller.ts';
import { AccountType } from './account.graphql.ts';
import { ApiKeyType } from './api-key.graphql.ts';
import { type GraphqlContext, sessionOf } from './context.ts';
import { RoleEnum } from './enums.ts';
import { Node } from './node.graphql.ts';
import { DateTime, JsonObject } from './scalars.ts';
import { Arg, Field, FieldResolver, Mutation, Query } from './typed.ts';

@ObjectType('User', {
  implements: Node,
  description: 'A person who signs in with email and password.',
  simpleResolvers: true,
})
export class UserType {
  @Field(() => ID, { description: 'Identifier of the person.' })
  id!: string;

  @Field(() => String, { description: 'Email address; the person signs in with it.' })
  email!: string;

  @Field(() => RoleEnum, { description: 'Permissions of the person.' })
  role!: Role;

  @Field(() => Boolean, {
    description: 'True until the person changes a one-time password. Nothing is blocked meanwhile.',
  })
  mustChangePassword!: boolean;

  @Field(() => DateTime, { description: 'When the person was added.' })
  createdAt!: Date;

  @Field(() => DateTime, {
    nullable: true,
    description: 'When the account invited the person. Null for people whom an operator added.',
  })
  invitedAt!: Date | null;

  @Field(() => DateTime, {
    nullable: true,
    description:
      'When the person accepted the invitation by choosing their own password. Null while it is pending.',
  })
  acceptedAt!: Date | null;

  @Field(() => DateTime, {
    nullable: true,
    description: 'When the person was removed. Null for present members.',
  })
  removedAt!: Date | null;
}

@ObjectType('Session', {
  description:
    'The session of a person who signed in. It ends 12 hours after its last use, and after 7 days.',
  simpleResolvers: true,
})
export class SessionType {
  @Field(() => String, {
    description: 'Send it as `Authorization: Bearer`. It is also set as an HttpOnly cookie.',
  })
  token!: string;

  @Field(() => DateTime, { description: 'When the session ends unless it is used before.' })
  expiresAt!: Date;

  @Field(() => UserType, { description: 'The person.' })
  user!: User;
}

@ObjectType({ description: 'A person with their one-time password.', simpleResolvers: true })
class InvitedMember {
  @Field(() => UserType, { description: 'The person.' })
  user!: User;

  @Field(() => String, { description: 'One-time password, shown only here.' })
  password!: string;

  @Field(() => Boolean, {
    description: 'Whether a mail with a link is on its way. Otherwise hand over the one-time password.',
  })
  mailed!: boolean;
}

const KEPT_KEYS = "Whether the person's keys keep working. Default: false, they are revoked.";

@ObjectType('RecoveryCodes', { description: 'Codes that stand in for a lost factor.', simpleResolvers: true })
export class RecoveryCodesType {
  @Field(() => [String], { description: 'Ten codes, shown this once; each is taken once.' })
  recoveryCodes!: readonly string[];
}

/**
 * Makes `signedIn` the session of this request and sets its cookie. The session applies to this request only if the
 * document may be run by sessions.
 */
export function enter(context: GraphqlContext, signedIn: SignedIn): SignedIn {
  if (context.auth.mayEnter) context.auth.session = signedIn.session;
  context.setCookie(signedIn);
  return signedIn;
}

@Resolver(() => UserType)
export class MemberResolver {
  @Query(() => UserType, { nullable: true, description: 'The person who is signed in.' })
  viewer(@Ctx() { run, operations }: GraphqlContext) {
    return run(operations.members.viewer, {});
  }

  @Query(() => [String], {
    nullable: true,
    description: 'Names of the operations that you may run, such as `apiKey.create`. Any other is FORBIDDEN.',
  })
  permissions(@Ctx() { run, operations }: GraphqlContext) {
    return run(operations.permissions.list, {});
  }

  @Query(() => [UserType], { nullable: true, description: 'People of the account, by email.' })
  members(@Ctx() { run, operations }: GraphqlContext) {
    return run(operations.members.list, {});
  }

  @Mutation(() => SessionType, {
    description: 'Signs in. After ten failures in 15 minutes for an email or an address: RATE_LIMITED.',
    errors: ['rate_limit_exceeded', 'second_factor_required'],
  })
  async signIn(
    @Ctx() context: GraphqlContext,
    @Arg('email', () => String, { description: 'Email address.' }) email: string,
    @Arg('password', () => String, { description: 'Password.' }) password: string,
    @Arg('code', () => String, {
      nullable: true,
      description:
        'A code of the second factor, or a recovery code. Without it a person who has one gets SECOND_FACTOR_REQUIRED, whose `details.challenge` goes to `answerChallenge`.',
    })
    code?: string | null,
  ) {
    return enter(context, await context.sessions.signIn(email, password, context.client, code ?? undefined));
  }

  @Mutation(() => SessionType, {
    description: 'Completes a sign-in that waits for a second factor, within 5 minutes of the password.',
    errors: ['rate_limit_exceeded', 'second_factor_required'],
  })
  async answerChallenge(
    @Ctx() context: GraphqlContext,
    @Arg('challenge', () => String, { description: 'From `details.challenge` of SECOND_FACTOR_REQUIRED.' })
    challenge: string,
    @Arg('code', () => String, {
      nullable: true,
      description: 'A code of the second factor, or a recovery code.',
    })
    code?: string | null,
    @Arg('passkey', () => JsonObject, {
      nullable: true,
      description: 'What a passkey made of `details.passkey` of SECOND_FACTOR_REQUIRED, instead of a code.',
    })
    passkey?: Readonly<Record<string, unknown>> | null,
  ) {
    const shown = { code: code ?? undefined, passkey: passkey ?? undefined };
    return enter(context, await context.sessions.answerChallenge(challenge, shown, context.client));
  }

  @Mutation(() => JsonObject, {
    description:
      'Begins to sign in with a passkey alone, or to confirm with one: request options of WebAuthn, as JSON, for the browser.',
    errors: [],
  })
  startPasskeySignIn(@Ctx() { sessions }: GraphqlContext) {
    return sessions.startPasskeySignIn();
  }

  @Mutation(() => SessionType, {
    description: 'Signs in with a passkey alone, which has verified the person.',
    errors: [],
  })
  async signInWithPasskey(
    @Ctx() context: GraphqlContext,
    @Arg('passkey', () => JsonObject, { description: 'What the passkey made of the options, as JSON.' })
    passkey: Readonly<Record<string, unknown>>,
  ) {
    return enter(context, await context.sessions.signInWithPasskey(passkey, context.client));
  }

  @Mutation(() => Boolean, {
    description:
      'Asks for a mail with a link to choose another password. True for known and unknown emails alike; false where the gateway cannot send mails.',
    errors: ['rate_limit_exceeded'],
  })
  requestPasswordReset(
    @Ctx() { passwordLinks, client }: GraphqlContext,
    @Arg('email', () => String, { description: 'Email address.' }) email: string,
  ) {
    return passwordLinks.request(email, client.address);
  }

  @Mutation(() => Boolean, {
    description:
      'Sets another password with the token of a mail, within an hour and once, and ends all sessions of the person.',
    errors: ['rate_limit_exceeded'],
  })
  async resetPassword(
    @Ctx() { passwordLinks, client }: GraphqlContext,
    @Arg('token', () => String, { description: 'What the link has as `?token=`.' }) token: string,
    @Arg('password', () => String, { description: 'The new password, 12 to 256 characters.' })
    password: string,
  ) {
    await passwordLinks.resetPassword(token, password, client.address);
    return true;
  }

  @Mutation(() => Boolean, {
    description: 'Accepts an invitation with the token of a mail, within 72 hours, and sets the password.',
    errors: ['rate_limit_exceeded'],
  })
  async acceptInvitation(
    @Ctx() { passwordLinks, client }: GraphqlContext,
    @Arg('token', () => String, { description: 'What the link has as `?token=`.' }) token: string,
    @Arg('password', () => String, { description: 'The password, 12 to 256 characters.' }) password: string,
  ) {
    await passwordLinks.acceptInvitation(token, password, client.address);
    return true;
  }

  @Mutation(() => JsonObject, {
    description:
      'Begins to accept an invitation by a passkey: creation options of WebAuthn, as JSON, for the browser.',
    errors: [],
  })
  startInvitationPasskey(
    @Ctx() { passwordLinks }: GraphqlContext,
    @Arg('token', () => String, { description: 'What the link has as `?token=`.' }) token: string,
  ) {
    return passwordLinks.startInvitationPasskey(token);
  }

  @Mutation(() => RecoveryCodesType, {
    description:
      'Accepts an invitation by a passkey instead of a password. The passkey signs in alone; the recovery codes stand in for it with a password that a mail resets.',
    errors: [],
  })
  acceptInvitationWithPasskey(
    @Ctx() { passwordLinks, client }: GraphqlContext,
    @Arg('token', () => String, { description: 'What the link has as `?token=`.' }) token: string,
    @Arg('passkey', () => JsonObject, { description: 'What the browser made of the options, as JSON.' })
    passkey: Readonly<Record<string, unknown>>,
  ) {
    return passwordLinks.acceptWithPasskey(token, passkey, client.address);
  }

  @Mutation(() => Boolean, { description: 'Ends the session of the request.', errors: [] })
  async signOut(@Ctx() context: GraphqlContext) {
    await context.sessions.signOut(sessionOf(context));
    context.setCookie(undefined);
    return true;
  }

  @Mutation(() => Boolean, {
    description: 'Sets a new password and ends your other sessions.',
    errors: ['rate_limit_exceeded'],
  })
  async changePassword(
    @Ctx() context: GraphqlContext,
    @Arg('current', () => String, { description: 'Your current password.' }) current: string,
    @Arg('new', () => String, { description: 'The new password, 12 to 256 characters.' }) next: string,
  ) {
    const { run, operations, client } = context;
    const sessionHash = sessionOf(context).tokenHash;
    await run(operations.members.changePassword, { current, new: next, sessionHash, client });
    return true;
  }

  @Mutation(() => InvitedMember, {
    description:
      'Invites a person to the account. It is pending until they choose their own password, by the link of the mail that they get, or by changing the one-time password. It ends after 72 hours.',
    canDryRun: true,
    errors: ['step_up_required'],
  })
  inviteMember(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('email', () => String, { description: 'Email address of the person.' })
    email: string,
    @Arg('role', () => RoleEnum, { description: 'Role of the person. OPERATOR is refused.' }) role: Role,
  ) {
    return run(operations.members.invite, { email, role });
  }

  @Mutation(() => InvitedMember, {
    description:
      'Replaces a lost password by a one-time password and ends the sessions of the person. For operators, who call `requestOperatorReset` for one another.',
    canDryRun: true,
    errors: ['not_found', 'step_up_required'],
  })
  async resetUserPassword(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('email', () => String, { description: 'Email address of the person.' })
    email: string,
    @Arg('accountId', () => ID, {
      nullable: true,
      description: 'The account of the person. Required if several people have the email.',
    })
    accountId: string | null | undefined,
  ) {
    return { ...(await run(operations.members.resetPassword, { email, accountId })), mailed: false };
  }

  @Mutation(() => UserType, {
    description: 'Changes the role of a member. Their next request has the new role.',
    canDryRun: true,
    errors: ['not_found', 'step_up_required'],
  })
  setMemberRole(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('userId', () => ID, { description: 'The person.' }) userId: string,
    @Arg('role', () => RoleEnum, { description: 'The new role. OPERATOR is refused.' }) role: Role,
    @Arg('keepKeys', () => Boolean, {
      nullable: true,
      description:
        'Whether keys that exceed the new role keep working: all keys of a VIEWER, and FULL_ACCESS keys of a DEVELOPER. Default: false, they are revoked.',
    })
    keepKeys?: boolean | null,
  ) {
    return run(operations.members.setRole, { userId, role, keepKeys: keepKeys ?? false });
  }

  @Mutation(() => Boolean, {
    description:
      'Removes a member or an invitation, ends their sessions and revokes their keys. `dismissMember` does the same and returns the person.',
    canDryRun: true,
    errors: ['not_found'],
  })
  async removeMember(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('userId', () => ID, { description: 'The person.' }) userId: string,
    @Arg('keepKeys', () => Boolean, { nullable: true, description: KEPT_KEYS }) keepKeys?: boolean | null,
  ) {
    await run(operations.members.remove, { userId, keepKeys: keepKeys ?? false });
    return true;
  }

  @Mutation(() => UserType, {
    description: 'Does the same as `removeMember`, and returns the person with their keys.',
    canDryRun: true,
    errors: ['not_found'],
  })
  dismissMember(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('userId', () => ID, { description: 'The person.' }) userId: string,
    @Arg('keepKeys', () => Boolean, { nullable: true, description: KEPT_KEYS }) keepKeys?: boolean | null,
  ) {
    return run(operations.members.remove, { userId, keepKeys: keepKeys ?? false });
  }

  @FieldResolver(() => [ApiKeyType], {
    description:
      'Keys that the person created or rotated, and the descendants of those, oldest first. Ended keys are included; keys that somebody else has rotated since are not.',
  })
  apiKeys(@Root() user: User, @Ctx() { loaders }: GraphqlContext): Promise<readonly ApiKey[]> {
    return loaders.keysOf.load(user.id);
  }

  @FieldResolver(() => DateTime, {
    nullable: true,
    description: 'When the pending invitation ends. Null if it is accepted.',
  })
  invitationExpiresAt(@Root() user: User) {
    return invitationExpiresAt(user);
  }

  @FieldResolver(() => AccountType, { nullable: true, description: 'The account. Null for an operator.' })
  account(@Root() user: User, @Ctx() { loaders }: GraphqlContext) {
    return user.accountId === null ? null : loaders.account.load(user.accountId);
  }
}
