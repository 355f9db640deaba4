import {
  Arg,
  Ctx,
  Field,
  FieldResolver,
  ID,
  Mutation,
  ObjectType,
  Query,
  Resolver,
  Root,
} from 'type-graphql';
import { invitationExpiresAt, type User } from '../domain/accounts/user.ts';
import type { ApiKey } from '../domain/api-keys/api-key.ts';
import type { AccountRole, Role } from '../domain/caller.ts';
import { AccountType } from './account.graphql.ts';
import { ApiKeyType } from './api-key.graphql.ts';
import { type GraphqlContext, sessionOf } from './context.ts';
import { RoleEnum } from './enums.ts';
import { DateTime } from './scalars.ts';

@ObjectType('User', { description: 'A person who signs in with email and password.', simpleResolvers: true })
class UserType {
  @Field(() => ID, { description: 'Identifier of the person.' })
  id!: string;

  @Field(() => String, { description: 'Email address, with which the person signs in.' })
  email!: string;

  @Field(() => RoleEnum, { description: 'What the person may do.' })
  role!: Role;

  @Field(() => Boolean, { description: 'True until a one-time password is changed; nothing is blocked.' })
  mustChangePassword!: boolean;

  @Field(() => DateTime, { description: 'When the person was added.' })
  createdAt!: Date;

  @Field(() => DateTime, {
    nullable: true,
    description: 'When the account invited the person; null for those whom an operator added.',
  })
  invitedAt!: Date | null;

  @Field(() => DateTime, {
    nullable: true,
    description:
      'When the invitation was accepted, by a change of the one-time password; null while it is pending.',
  })
  acceptedAt!: Date | null;
}

@ObjectType('Session', {
  description: 'Stands for a person who signed in; ends 12 hours after its last use.',
  simpleResolvers: true,
})
class SessionType {
  @Field(() => String, {
    description: 'To be sent as `Authorization: Bearer`. Also set as an HttpOnly cookie.',
  })
  token!: string;

  @Field(() => DateTime, { description: 'When it ends unless it is used before.' })
  expiresAt!: Date;

  @Field(() => UserType, { description: 'The person it stands for.' })
  user!: User;
}

@ObjectType({ description: 'A person and the password made for them.', simpleResolvers: true })
class InvitedMember {
  @Field(() => UserType, { description: 'The person.' })
  user!: User;

  @Field(() => String, { description: 'One-time password, shown this once.' })
  password!: string;
}

const KEPT_KEYS = "Whether the person's keys go on working. When absent they are revoked.";

@Resolver(() => UserType)
export class MemberResolver {
  @Query(() => UserType, { nullable: true, description: 'The person who is signed in.' })
  viewer(@Ctx() { run, operations }: GraphqlContext) {
    return run(operations.members.viewer, {});
  }

  @Query(() => [String], {
    nullable: true,
    description:
      'Names of the operations that the person may run, such as `apiKey.create`; any other is FORBIDDEN.',
  })
  permissions(@Ctx() { run, operations }: GraphqlContext) {
    return run(operations.permissions.list, {});
  }

  @Query(() => [UserType], { nullable: true, description: 'The people of the account, by email.' })
  members(@Ctx() { run, operations }: GraphqlContext) {
    return run(operations.members.list, {});
  }

  @Mutation(() => SessionType, {
    description: 'Signs in. After ten failures in 15 minutes for an email or an address: RATE_LIMITED.',
  })
  async signIn(
    @Ctx() context: GraphqlContext,
    @Arg('email', () => String, { description: 'Email address.' }) email: string,
    @Arg('password', () => String, { description: 'Password.' }) password: string,
  ) {
    const signedIn = await context.sessions.signIn(email, password, context.client);
    context.auth.session = signedIn.session;
    context.setCookie(signedIn);
    return signedIn;
  }

  @Mutation(() => Boolean, { description: 'Ends the session of the request.' })
  async signOut(@Ctx() context: GraphqlContext) {
    await context.sessions.signOut(sessionOf(context));
    context.setCookie(undefined);
    return true;
  }

  @Mutation(() => Boolean, { description: "Sets a new password and ends the person's other sessions." })
  async changePassword(
    @Ctx() context: GraphqlContext,
    @Arg('current', () => String, { description: 'The password so far.' }) current: string,
    @Arg('new', () => String, { description: 'The new password, 12 to 256 characters.' }) next: string,
  ) {
    const { run, operations, client: address } = context;
    const sessionHash = sessionOf(context).tokenHash;
    await run(operations.members.changePassword, { current, new: next, sessionHash, address });
    return true;
  }

  @Mutation(() => InvitedMember, {
    description:
      'Invites a person to the account. The invitation is pending until they sign in with the one-time password and change it, for 7 days at the most.',
  })
  inviteMember(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('email', () => String, { description: 'Email address, with which the person will sign in.' })
    email: string,
    @Arg('role', () => RoleEnum, { description: 'What the person may do; not OPERATOR.' }) role: AccountRole,
  ) {
    return run(operations.members.invite, { email, role });
  }

  @Mutation(() => InvitedMember, {
    description:
      'Gives a person who has lost their password a one-time one and ends their sessions; for operators.',
  })
  resetUserPassword(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('email', () => String, { description: 'Email address, with which the person signs in.' })
    email: string,
    @Arg('accountId', () => ID, {
      nullable: true,
      description: 'The account of the person, where several sign in with the email.',
    })
    accountId: string | null | undefined,
  ) {
    return run(operations.members.resetPassword, { email, accountId });
  }

  @Mutation(() => UserType, {
    description: 'Changes what a person of the account may do, from their next request on.',
  })
  setMemberRole(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('userId', () => ID, { description: 'The person.' }) userId: string,
    @Arg('role', () => RoleEnum, { description: 'The new role; not OPERATOR.' }) role: AccountRole,
    @Arg('keepKeys', () => Boolean, {
      nullable: true,
      description:
        'Whether keys that go beyond the new role go on working: for a VIEWER all, for a DEVELOPER those with FULL_ACCESS. When absent they are revoked.',
    })
    keepKeys?: boolean | null,
  ) {
    return run(operations.members.setRole, { userId, role, keepKeys: keepKeys ?? false });
  }

  @Mutation(() => Boolean, {
    description:
      'Takes a person out of the account, or an invitation back, ends their sessions and revokes their keys. `dismissMember` does the same and returns them.',
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
    description: 'Does what `removeMember` does, and returns the person with their keys.',
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
      'The keys that the person created or rotated, and what these keys created or rotated in turn; ended ones too, the oldest first. A key that somebody else has rotated since is no longer theirs.',
  })
  apiKeys(@Root() user: User, @Ctx() { loaders }: GraphqlContext): Promise<readonly ApiKey[]> {
    return loaders.keysOf.load(user.id);
  }

  @FieldResolver(() => DateTime, {
    nullable: true,
    description: 'When the pending invitation ends; null once it is accepted.',
  })
  invitationExpiresAt(@Root() user: User) {
    return invitationExpiresAt(user);
  }

  @FieldResolver(() => AccountType, { nullable: true, description: 'The account; null for an operator.' })
  account(@Root() user: User, @Ctx() { loaders }: GraphqlContext) {
    return user.accountId === null ? null : loaders.account.load(user.accountId);
  }
}
