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
/**
 * Input of a list that can also be read from its end. The list returns the `last` rows before the cursor `before`.
 * Without `before`, it returns the last rows.
 */
export interface TwoWaySliceInput extends SliceInput {
  readonly last?: number | null | undefined;
  readonly before?: string | null | undefined;
}
/** The rows that a store returns for a slice. `limit` is `first + 1`: the extra row shows whether there are more. */
export interface KeyRange {
  readonly limit: number;
  readonly after: string | undefined;
}
/**
 * A range of a list that can also be read from its end. If `isBackward`, the store returns the rows before `before`,
 * starting with the nearest one. Without `before`, it starts with the last row of the list.
 */
export interface TwoWayRange extends KeyRange {
  readonly isBackward?: boolean;
  readonly before?: string | undefined;
}

export interface Slice<T> {
  readonly edges: readonly { readonly cursor: string; readonly node: T }[];
  readonly hasNextPage: boolean;
  readonly hasPreviousPage: boolean;
  /** Counts all rows of the list. It is called only if the total was requested. */
  readonly total: () => Promise<number>;
  /**
   * Returns the time at which a search stopped. It did not read older rows. Undefined if it read all rows. Lists that
   * are always read completely do not have this function.
   */
  readonly searchedBackTo?: () => Promise<Date | undefined>;
}

/**
 * Returns the range that `input` requests. Throws `validation_error` unless `first` is 1 to 100 and `after` is a cursor
 * of the given form.
 */
export function keyRange(input: SliceInput, form: RegExp): KeyRange {
  return { limit: limitOf('first', input.first), after: keyIn('after', input.after, form) };
}

function limitOf(path: 'first' | 'last', given: number | null | undefined): number {
  const rows = given ?? SLICE_DEFAULT;
  if (!Number.isInteger(rows) || rows < 1 || rows > SLICE_MAX) {
    throw validationError([{ path, message: `must be a whole number from 1 to ${SLICE_MAX}` }]);
  }
  return rows + 1;
}

function keyIn(
  path: 'after' | 'before',
  cursor: string | null | undefined,
  form: RegExp,
): string | undefined {
  if (cursor === undefined || cursor === null) return undefined;
  const key = Buffer.from(cursor, 'base64url').toString('latin1');
  if (!form.test(key)) throw validationError([{ path, message: 'must be a cursor that this list gave' }]);
  return key;
}

/**
 * Like `keyRange`, for a list that can also be read from its end. Throws `validation_error` also if `input` has
 * arguments of both directions.
 */
export function twoWayRange(input: TwoWaySliceInput, form: RegExp): TwoWayRange {
  const { first, after, last, before } = input;
  const isGiven = (value: unknown) => value !== undefined && value !== null;
  if (!isGiven(last) && !isGiven(before)) {
    return { ...keyRange(input, form), isBackward: false, before: undefined };
  }
  if (isGiven(first) || isGiven(after)) {
    throw validationError([{ path: 'last', message: 'last and before do not go with first and after' }]);
  }
  const [limit, key] = [limitOf('last', last), keyIn('before', before, form)];
  return { limit, after: undefined, isBackward: true, before: key };
}

/** Builds the slice from the rows that a store returned for a `TwoWayRange`. */
export function twoWaySliceOf<T>(
  rows: readonly T[],
  range: TwoWayRange,
  keyOf: (row: T) => string,
  total: () => Promise<number>,
): Slice<T> {
  const slice = sliceOf(rows, range, keyOf, total);
  if (!range.isBackward) return slice;
  return {
    ...slice,
    edges: slice.edges.toReversed(),
    hasNextPage: range.before !== undefined,
    hasPreviousPage: slice.hasNextPage,
  };
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
