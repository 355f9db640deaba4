import {
  DirectiveLocation,
  GraphQLDirective,
  GraphQLList,
  GraphQLNonNull,
  GraphQLSchema,
  isEnumType,
  isObjectType,
  Kind,
  parse,
} from 'graphql';
import type { ErrorCode } from '../domain/errors.ts';
import { mutationCodes } from './error-codes.ts';

/** Extensions of a field that the decorator `Mutation` sets (typed.ts). */
export interface MutationExtensions {
  /** The mutation's own error codes. Every mutation has some further codes. */
  readonly errors?: readonly ErrorCode[];
}

/**
 * Returns the schema with the directive `@errors`. Code generators read from it which errors each mutation can have.
 */
export function withErrorsDirective(schema: GraphQLSchema): GraphQLSchema {
  const codes = schema.getType('ErrorCode');
  if (!isEnumType(codes)) throw new Error('the schema has no ErrorCode');
  const errors = new GraphQLDirective({
    name: 'errors',
    description: 'Every code that the errors of a mutation can have (`extensions.code`).',
    locations: [DirectiveLocation.FIELD_DEFINITION],
    args: {
      codes: {
        type: new GraphQLNonNull(new GraphQLList(new GraphQLNonNull(codes))),
        description: 'The codes.',
      },
    },
  });
  return new GraphQLSchema({ ...schema.toConfig(), directives: [...schema.getDirectives(), errors] });
}

/** Returns the codes that a mutation can answer. */
export function codesOfMutation(schema: GraphQLSchema, name: string): readonly string[] {
  const extensions: MutationExtensions | undefined = schema.getMutationType()?.getFields()[name]?.extensions;
  return mutationCodes(extensions?.errors ?? []);
}

/** Adds `@errors` to the text of a printed schema, because graphql-js does not print directives of fields. */
export function printErrors(schema: GraphQLSchema, text: string): string {
  const mutation = schema.getMutationType();
  if (!isObjectType(mutation)) return text;
  const fields = parse(text).definitions.flatMap((node) =>
    node.kind === Kind.OBJECT_TYPE_DEFINITION && node.name.value === mutation.name ? (node.fields ?? []) : [],
  );
  let printed = '';
  let from = 0;
  for (const { name, type } of fields) {
    const end = type.loc?.end ?? from;
    const codes = codesOfMutation(schema, name.value);
    printed += `${text.slice(from, end)} @errors(codes: [${codes.join(', ')}])`;
    from = end;
  }
  return printed + text.slice(from);
}
