import { defaultFieldResolver, type GraphQLSchema } from 'graphql';
import { type GraphqlContext, sessionOf } from './context.ts';

/** Longest time in ms for which a dry run may hold locks (R331). */
const MAX_MS = 500;
/** Longest time in ms for mutations of kind `long`. Their locks delay only their own account. */
const LONG_MAX_MS = 3_000;

/**
 * What `@Mutation` stores about a mutation that has the argument `dryRun`. A mutation of kind `long` may take more
 * time.
 */
export type DryRunKind = 'long' | true;

/** Changes mutations, so that `dryRun: true` starts the dry run of the request (R273). */
export function beginDryRuns(schema: GraphQLSchema): GraphQLSchema {
  for (const field of Object.values(schema.getMutationType()?.getFields() ?? {})) {
    if (!field.args.some(({ name }) => name === 'dryRun')) continue;
    const resolve = field.resolve ?? defaultFieldResolver;
    field.resolve = async (source, args, context: GraphqlContext, info) => {
      if (args.dryRun === true) {
        const { caller } = sessionOf(context);
        const holder = 'accountId' in caller ? caller.accountId : caller.userId;
        await context.dryRun.begin(holder, field.extensions.dryRun === 'long' ? LONG_MAX_MS : MAX_MS);
      }
      return resolve(source, args, context, info);
    };
  }
  return schema;
}
