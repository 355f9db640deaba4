import { Ctx, InputType, Int, ObjectType, Resolver } from 'type-graphql';
import type { Plan } from '../domain/accounts/account.ts';
import type { GraphqlContext } from './context.ts';
import { Arg, Field, InputField, Mutation, Query } from './typed.ts';

@ObjectType('Plan', {
  description:
    'Request limits of an account: for each key without limits of its own, and for each person. ' +
    'Messages that a person sends count against `perMinute` and `perSecond`, like the requests of a key.',
  simpleResolvers: true,
})
export class PlanType implements Plan {
  @Field(() => String, { description: 'Name of the plan.' })
  name!: string;

  @Field(() => Int, { description: 'Requests in any 60 seconds.' })
  perMinute!: number;

  @Field(() => Int, { description: 'Requests in any second. 0 means no limit.' })
  perSecond!: number;

  @Field(() => Int, { description: 'Webhook registrations in any 60 seconds.' })
  webhooksPerMinute!: number;

  @Field(() => Int, {
    nullable: true,
    description: 'GraphQL requests of a session in any 60 seconds. Null means the default of the gateway.',
  })
  sessionPerMinute!: number | null;
}

@InputType({ description: 'A plan.' })
class SetPlanInput {
  @InputField(() => String, { description: 'Name of the plan, new or existing.' })
  name!: string;

  @InputField(() => Int, { description: 'Requests of a key in any 60 seconds.' })
  perMinute!: number;

  @InputField(() => Int, {
    nullable: true,
    description: 'Requests of a key in any second. Default: 0, no limit.',
  })
  perSecond?: number | null;

  @InputField(() => Int, { description: 'Webhook registrations of a key in any 60 seconds.' })
  webhooksPerMinute!: number;

  @InputField(() => Int, {
    nullable: true,
    description: 'GraphQL requests of a session in any 60 seconds. Default: the default of the gateway.',
  })
  sessionPerMinute?: number | null;
}

@Resolver(() => PlanType)
export class PlanResolver {
  @Query(() => [PlanType], { nullable: true, description: 'All plans, by name. For operators.' })
  plans(@Ctx() { run, operations }: GraphqlContext) {
    return run(operations.plans.list, {});
  }

  @Mutation(() => PlanType, {
    description: 'Creates a plan, or changes it for every account on it. For operators.',
    canDryRun: true,
    errors: ['step_up_required'],
  })
  setPlan(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('input', () => SetPlanInput, { description: 'The plan.' }) input: SetPlanInput,
  ) {
    const { perSecond, sessionPerMinute } = input;
    return run(operations.plans.set, {
      ...input,
      perSecond: perSecond ?? 0,
      sessionPerMinute: sessionPerMinute ?? null,
    });
  }
}
