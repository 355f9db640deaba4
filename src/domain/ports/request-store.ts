import type { KeyRange } from '../paging.ts';
import type { ApiRequest, FullBodies, NewApiRequest, RequestFilter } from '../requests/api-request.ts';

/** Stores the log of REST requests (R415). */
export interface RequestStore {
  /** Adds requests to the log. Drops them if the log already has `mostOfDay` requests of this day in UTC (R417). */
  add(day: Date, requests: readonly NewApiRequest[], mostOfDay: number): Promise<void>;
  find(accountId: string, id: string): Promise<ApiRequest | undefined>;
  findMany(accountId: string, ids: readonly string[]): Promise<readonly ApiRequest[]>;
  /** Returns the requests that match the filter, newest first. A cursor holds the id of a request. */
  slice(accountId: string, filter: RequestFilter, range: KeyRange): Promise<readonly ApiRequest[]>;
  count(accountId: string, filter: RequestFilter): Promise<number>;
  /** For each of these messages, returns the request that sent it, if the log has that request. */
  ofMessages(accountId: string, messageIds: readonly string[]): Promise<readonly ApiRequest[]>;
  /** Deletes up to `limit` requests that were answered before `before`. Returns the number of deleted requests. */
  forget(before: Date, limit: number): Promise<number>;
  /**
   * Erases the whole bodies of up to `limit` requests that were answered before `before`. Returns the number of these
   * requests.
   */
  eraseFullBodies(before: Date, limit: number): Promise<number>;
  /** Returns the accounts among these that log whole bodies now, or logged them within the last day. */
  fullBodies(accountIds: readonly string[]): Promise<ReadonlyMap<string, FullBodies>>;
  setFullBodies(accountId: string, time: FullBodies): Promise<void>;
}
