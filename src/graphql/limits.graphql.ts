import { Ctx, Float, Int, ObjectType, Resolver } from 'type-graphql';
import { SLICE_DEFAULT, SLICE_MAX } from '../domain/paging.ts';
import type { GraphqlContext } from './context.ts';
import { LIMITS } from './limits.ts';
import { OBJECTS_MAX } from './list-bound.ts';
import { DateTime } from './scalars.ts';
import { Field, Query } from './typed.ts';

@ObjectType({
  description:
    'Limits of queries. A query costs one point for each object of its answer, and more where a field works harder, such as a search. `extensions.cost` of each answer says what it cost; the header `Cost-Only: true` asks for that without running.',
  simpleResolvers: true,
})
class Limits {
  @Field(() => Int, { description: 'Points that one query may cost, estimated before it runs.' })
  cost!: number;

  @Field(() => Float, { description: 'Points that you may use in a minute, over all queries.' })
  pointsPerMinute!: number;

  @Field(() => Float, {
    nullable: true,
    description: 'Points left in this minute, after what this query was estimated to cost.',
  })
  pointsRemaining!: number | null;

  @Field(() => DateTime, { nullable: true, description: 'When all points are back.' })
  pointsResetAt!: Date | null;

  @Field(() => Float, { description: 'Requests that you may make in any 60 seconds.' })
  requestsPerMinute!: number;

  @Field(() => Int, { description: 'Depth of a query.' })
  depth!: number;

  @Field(() => Int, { description: 'Aliases of a query.' })
  aliases!: number;

  @Field(() => Int, { description: 'Directives of a query.' })
  directives!: number;

  @Field(() => Int, { description: 'Tokens of a document.' })
  tokens!: number;

  @Field(() => Int, { description: 'Mutations of a request.' })
  mutations!: number;

  @Field(() => Int, { description: 'Rows of a page, unless you say how many.' })
  pageSize!: number;

  @Field(() => Int, { description: 'The most rows of a page.' })
  pageSizeMax!: number;

  @Field(() => Int, { description: 'Objects that the lists of an answer may hold together.' })
  objects!: number;
}

@Resolver()
export class LimitsResolver {
  @Query(() => Limits, { description: 'The limits of your queries.' })
  async limits(@Ctx() { budgets, auth, bill }: GraphqlContext): Promise<Limits> {
    const { cost, depth, aliases, directives, tokens, mutations } = LIMITS;
    return {
      ...{ cost, depth, aliases, directives, tokens, mutations },
      pointsPerMinute: budgets.pointsPerMinute,
      pointsRemaining: bill.verdict?.remaining ?? null,
      pointsResetAt: bill.verdict?.resetAt ?? null,
      requestsPerMinute: await budgets.requestsPerMinute(auth.session?.caller),
      pageSize: SLICE_DEFAULT,
      pageSizeMax: SLICE_MAX,
      objects: OBJECTS_MAX,
    };
  }
}
