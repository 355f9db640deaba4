/** One page of a list and the number of all its rows. */
export interface Page<T> {
  readonly rows: readonly T[];
  readonly total: number;
}
/** `page` counts from 1. */
export interface PageRequest {
  readonly page: number;
  readonly limit: number;
}
