import { Ctx, ID, ObjectType, Resolver } from 'type-graphql';
import type { User } from '../domain/accounts/user.ts';
import type { OperatorResetKind, ShownReset } from '../domain/people/operator-reset.ts';
import type { GraphqlContext } from './context.ts';
import { OperatorResetKindEnum } from './enums.ts';
import { UserType } from './member.graphql.ts';
import { DateTime } from './scalars.ts';
import { Arg, Field, Mutation, Query } from './typed.ts';

@ObjectType('OperatorReset', {
  description: "A request to reset an operator's sign-in, which a second operator must confirm.",
  simpleResolvers: true,
})
class OperatorResetType {
  @Field(() => ID, { description: 'Identifier of the request.' })
  id!: string;

  @Field(() => OperatorResetKindEnum, { description: 'What is reset.' })
  kind!: OperatorResetKind;

  @Field(() => UserType, { description: 'The operator whose sign-in is reset.' })
  user!: User;

  @Field(() => UserType, { description: 'The operator who requested it, and cannot confirm it.' })
  requester!: User;

  @Field(() => DateTime, { description: 'When it was requested.' })
  requestedAt!: Date;

  @Field(() => DateTime, { description: 'When it ends unless it is confirmed: after 24 hours.' })
  expiresAt!: Date;
}

@ObjectType({ description: 'A request that was made.', simpleResolvers: true })
class RequestedOperatorReset {
  @Field(() => OperatorResetType, { description: 'The request.' })
  reset!: ShownReset;

  @Field(() => String, {
    nullable: true,
    description:
      'First part of the new password, shown only here. The operator who confirms sees the second part. Null for second factors.',
  })
  passwordPart!: string | null;
}

@ObjectType({ description: 'A reset that was done.', simpleResolvers: true })
class ConfirmedOperatorReset {
  @Field(() => UserType, { description: 'The operator whose sign-in was reset.' })
  user!: User;

  @Field(() => String, {
    nullable: true,
    description:
      'Second part of the new password, shown only here. It follows the part that the requester saw, without a space. Null for second factors.',
  })
  passwordPart!: string | null;
}

/** Fields with which two operators together reset the sign-in of a third operator (R400). */
@Resolver()
export class OperatorResetResolver {
  @Query(() => [UserType], { nullable: true, description: 'The operators, by email. For operators.' })
  operators(@Ctx() { run, operations }: GraphqlContext) {
    return run(operations.operatorResets.operators, {});
  }

  @Query(() => [OperatorResetType], {
    nullable: true,
    description: "Pending requests to reset an operator's sign-in, oldest first. For operators.",
  })
  operatorResets(@Ctx() { run, operations }: GraphqlContext) {
    return run(operations.operatorResets.list, {});
  }

  @Mutation(() => RequestedOperatorReset, {
    description:
      'Asks to remove the second factors of another operator, or to replace their password. A second operator confirms it within 24 hours. The person is mailed, and can refuse.',
    canDryRun: true,
    errors: ['not_found', 'step_up_required'],
  })
  requestOperatorReset(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('userId', () => ID, { description: 'The other operator.' }) userId: string,
    @Arg('kind', () => OperatorResetKindEnum, { description: 'What is to be reset.' })
    kind: OperatorResetKind,
  ) {
    return run(operations.operatorResets.request, { userId, kind });
  }

  @Mutation(() => ConfirmedOperatorReset, {
    description:
      "Does what another operator requested, and ends the person's sessions. The requester and the person cannot confirm.",
    canDryRun: true,
    errors: ['not_found', 'step_up_required'],
  })
  confirmOperatorReset(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('id', () => ID, { description: 'The request.' }) id: string,
  ) {
    return run(operations.operatorResets.confirm, { id });
  }

  @Mutation(() => Boolean, {
    description: 'Ends a request without a change. Every operator may do this, also the person concerned.',
    canDryRun: true,
    errors: ['not_found', 'step_up_required'],
  })
  async refuseOperatorReset(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('id', () => ID, { description: 'The request.' }) id: string,
  ) {
    await run(operations.operatorResets.refuse, { id });
    return true;
  }
}
