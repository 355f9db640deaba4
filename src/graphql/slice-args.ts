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

/** The arguments of connections that can also be read from their end, because an index serves them. */
@ArgsType()
export class TwoWaySliceArgs extends SliceArgs {
  @InputField(() => Int, {
    nullable: true,
    description: `Number of rows before \`before\`, or of the last rows: 1 to ${SLICE_MAX}.`,
  })
  last?: number | null;

  @InputField(() => String, {
    nullable: true,
    description: 'Cursor of the row after the page. Default: the end of the list.',
  })
  before?: string | null;
}
