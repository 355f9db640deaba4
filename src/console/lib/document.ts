/** One GraphQL operation as text, with the types of its result and variables; made by `npm run console-types`. */
export interface Document<Result, Variables> {
  /** Name of the operation; the first part of its cache key. */
  readonly name: string;
  readonly text: string;
  /** Holds the types; never there at run time. */
  readonly types?: (variables: Variables) => Result;
}

/**
 * What a request without an error answers. The schema lets a root be null only so that one error does not empty the
 * others, and `request` throws on any error.
 */
export type Complete<Result> = { readonly [Root in keyof Result]: NonNullable<Result[Root]> };
