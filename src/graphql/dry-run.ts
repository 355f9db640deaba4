import { defaultFieldResolver, type GraphQLSchema } from 'graphql';
import type { GraphqlContext } from './context.ts';

/** Changes mutations, so that `dryRun: true` starts the dry run of the request (R273). */
export function beginDryRuns(schema: GraphQLSchema): GraphQLSchema {
  for (const field of Object.values(schema.getMutationType()?.getFields() ?? {})) {
    if (!field.args.some(({ name }) => name === 'dryRun')) continue;
    const resolve = field.resolve ?? defaultFieldResolver;
    field.resolve = async (source, args, context: GraphqlContext, info) => {
      if (args.dryRun === true) await context.dryRun.begin();
      return resolve(source, args, context, info);
    };
  }
  return schema;
}
