import { ArgsType, Int } from 'type-graphql';
import { SLICE_DEFAULT, SLICE_MAX } from '../domain/paging.ts';
import { InputField } from './typed.ts';

/** The arguments of every connection. */
@ArgsType()
export class SliceArgs {
  @InputField(() => Int, {
    nullable: true,
    description: `Number of rows, 1 to ${SLICE_MAX}. Default: ${SLICE_DEFAULT}.`,
  })
  first?: number | null;

  @InputField(() => String, {
    nullable: true,
    description: 'Cursor of the row before the page. Default: the start of the list.',
  })
  after?: string | null;
}
