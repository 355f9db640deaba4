/**
 * Two forms of lists. REST uses numbered **pages**. GraphQL uses **slices**: up to `first` rows after a cursor. A
 * cursor is opaque text. It stays valid while rows are added and removed.
 */
import { validationError } from './errors.ts';

export const SLICE_DEFAULT = 20;
export const SLICE_MAX = 100;

/** The slice that a caller requests. A member that is absent or null takes its default. */
export interface SliceInput {
  readonly first?: number | null | undefined;
  readonly after?: string | null | undefined;
}
/** The rows that a store returns for a slice. `limit` is `first + 1`: the extra row shows whether there are more. */
export interface KeyRange {
  readonly limit: number;
  readonly after: string | undefined;
}

export interface Slice<T> {
  readonly edges: readonly { readonly cursor: string; readonly node: T }[];
  readonly hasNextPage: boolean;
  readonly hasPreviousPage: boolean;
  /** Counts all rows of the list. It is called only if the total was requested. */
  readonly total: () => Promise<number>;
  /**
   * Returns the time at which a search stopped: it did not read anything older. Undefined if it read everything. Lists
   * that are always read completely do not have this function.
   */
  readonly searchedBackTo?: () => Promise<Date | undefined>;
}

/**
 * Returns the range that `input` requests. Throws `validation_error` unless `first` is 1 to 100 and `after` is a cursor
 * of the given form.
 */
export function keyRange(input: SliceInput, form: RegExp): KeyRange {
  const first = input.first ?? SLICE_DEFAULT;
  if (!Number.isInteger(first) || first < 1 || first > SLICE_MAX) {
    throw validationError([{ path: 'first', message: `must be a whole number from 1 to ${SLICE_MAX}` }]);
  }
  if (input.after === undefined || input.after === null) return { limit: first + 1, after: undefined };
  const key = Buffer.from(input.after, 'base64url').toString('latin1');
  if (!form.test(key)) {
    throw validationError([{ path: 'after', message: 'must be a cursor that this list gave' }]);
  }
  return { limit: first + 1, after: key };
}

/** Builds the slice from the rows that a store returned for `range`. `keyOf` returns the content of a row's cursor. */
export function sliceOf<T>(
  rows: readonly T[],
  range: KeyRange,
  keyOf: (row: T) => string,
  total: () => Promise<number>,
): Slice<T> {
  return {
    edges: rows.slice(0, range.limit - 1).map((node) => ({
      cursor: Buffer.from(keyOf(node), 'latin1').toString('base64url'),
      node,
    })),
    hasNextPage: rows.length === range.limit,
    hasPreviousPage: range.after !== undefined,
    total,
  };
}

/** Returns an empty slice, for a list that the caller may not see. */
export function emptySlice(range: KeyRange): Slice<never> {
  return sliceOf<never>(
    [],
    range,
    () => '',
    async () => 0,
  );
}

/** Forms of a cursor's content: a UUID of version 7, or a sequence number. */
export const UUID_KEY = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
export const SEQ_KEY = /^[0-9]{1,15}$/;

/** One page of a list, and the number of rows in the whole list. */
export interface Page<T> {
  readonly rows: readonly T[];
  readonly total: number;
}
/** An empty page, for a list that the caller may not see. */
export const EMPTY_PAGE: Page<never> = { rows: [], total: 0 };
/** `page` counts from 1. `limit` is the number of rows per page. */
export interface PageRequest {
  readonly page: number;
  readonly limit: number;
}
