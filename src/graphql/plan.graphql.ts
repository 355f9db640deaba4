import { Arg, Ctx, Field, InputType, Int, Mutation, ObjectType, Query, Resolver } from 'type-graphql';
import type { GraphqlContext } from './context.ts';

@ObjectType('Plan', {
  description:
    'How many requests each key of an account may make, unless the key has figures of its own, and each person of it. ' +
    'What a person sends counts on `perMinute` and `perSecond`, as the requests of one key do.',
  simpleResolvers: true,
})
export class PlanType {
  @Field(() => String, { description: 'Name of the plan.' })
  name!: string;

  @Field(() => Int, { description: 'Requests in any 60 seconds.' })
  perMinute!: number;

  @Field(() => Int, { description: 'Requests in any second; 0 for no such limit.' })
  perSecond!: number;

  @Field(() => Int, { description: 'Webhook registrations in any 60 seconds.' })
  webhooksPerMinute!: number;

  @Field(() => Int, {
    nullable: true,
    description: 'Requests of a session to GraphQL in any 60 seconds; null for the default of the gateway.',
  })
  sessionPerMinute!: number | null;
}

@InputType({ description: 'A plan.' })
class SetPlanInput {
  @Field(() => String, { description: 'Name of the plan, new or there already.' })
  name!: string;

  @Field(() => Int, { description: 'Requests of a key in any 60 seconds.' })
  perMinute!: number;

  @Field(() => Int, {
    nullable: true,
    description: 'Requests of a key in any second; no such limit when absent or 0.',
  })
  perSecond?: number | null;

  @Field(() => Int, { description: 'Webhook registrations of a key in any 60 seconds.' })
  webhooksPerMinute!: number;

  @Field(() => Int, {
    nullable: true,
    description:
      'Requests of a session to GraphQL in any 60 seconds; the default of the gateway when absent.',
  })
  sessionPerMinute?: number | null;
}

@Resolver(() => PlanType)
export class PlanResolver {
  @Query(() => [PlanType], { nullable: true, description: 'Every plan, by name. For operators.' })
  plans(@Ctx() { run, operations }: GraphqlContext) {
    return run(operations.plans.list, {});
  }

  @Mutation(() => PlanType, {
    description: 'Creates a plan, or changes it for every account that is on it. For operators.',
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
