import { ArgsType, Field, Int } from 'type-graphql';
import { SLICE_DEFAULT, SLICE_MAX } from '../domain/paging.ts';

/** The arguments of every connection. */
@ArgsType()
export class SliceArgs {
  @Field(() => Int, {
    nullable: true,
    description: `How many rows, 1 to ${SLICE_MAX}; ${SLICE_DEFAULT} when absent.`,
  })
  first?: number | null;

  @Field(() => String, { nullable: true, description: 'Cursor after which to go on; the start when absent.' })
  after?: string | null;
}
