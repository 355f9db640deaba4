import { Ctx, Resolver } from 'type-graphql';
import type { ExportedList } from '../domain/messages/export-operations.ts';
import type { GraphqlContext } from './context.ts';
import { ExportedListEnum } from './enums.ts';
import { Arg, Mutation } from './typed.ts';

/** Exports of messages (R253). */
@Resolver()
export class ExportResolver {
  @Mutation(() => Boolean, {
    description:
      'Says that a file of messages or recipients is made from what the lists answer. It asks for a step-up and is recorded in the audit log. The console calls it before each export.',
    errors: ['step_up_required'],
  })
  async startExport(
    @Ctx() { run, operations }: GraphqlContext,
    @Arg('list', () => ExportedListEnum, { description: 'The list.' }) list: ExportedList,
    @Arg('filters', () => [String], {
      description: 'Names of the conditions in use, such as `status`. Without their values.',
    })
    filters: readonly string[],
  ): Promise<boolean> {
    await run(operations.exports.start, { list, filters });
    return true;
  }
}
