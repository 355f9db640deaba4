/** One GraphQL operation as text, with the types of its result and variables. `npm run console-types` writes it. */
export interface Document<Result, Variables> {
  /** Name of the operation; the first part of its cache key. */
  readonly name: string;
  readonly text: string;
  /** Carries the types; does not exist at run time. */
  readonly types?: (variables: Variables) => Result;
}

/**
 * The result of a request without errors: no root is null. The schema allows a null root only so that one error does
 * not empty the other roots, and `request` throws on any error.
 */
export type Complete<Result> = { readonly [Root in keyof Result]: NonNullable<Result[Root]> };
