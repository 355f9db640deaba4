/** One page of a list and the number of all its rows. */
export interface Page<T> {
  readonly rows: readonly T[];
  readonly total: number;
}
/** The page of a list of which the caller reaches nothing. */
export const EMPTY_PAGE: Page<never> = { rows: [], total: 0 };
/** `page` counts from 1. */
export interface PageRequest {
  readonly page: number;
  readonly limit: number;
}
