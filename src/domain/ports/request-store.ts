import type { KeyRange } from '../paging.ts';
import type { ApiRequest, FullBodies, NewApiRequest, RequestFilter } from '../requests/api-request.ts';

/** Stores the log of REST requests (R415). */
export interface RequestStore {
  /** Adds requests. Once `mostOfDay` were added on this day in UTC, further ones are dropped (R417). */
  add(day: Date, requests: readonly NewApiRequest[], mostOfDay: number): Promise<void>;
  find(accountId: string, id: string): Promise<ApiRequest | undefined>;
  findMany(accountId: string, ids: readonly string[]): Promise<readonly ApiRequest[]>;
  /** Returns requests that match, newest first. The cursor is the id. */
  slice(accountId: string, filter: RequestFilter, range: KeyRange): Promise<readonly ApiRequest[]>;
  count(accountId: string, filter: RequestFilter): Promise<number>;
  /** Returns the request that sent each of these messages, if the log has it. */
  ofMessages(accountId: string, messageIds: readonly string[]): Promise<readonly ApiRequest[]>;
  /** Deletes requests before `before`, at most `limit`. Returns the number. */
  forget(before: Date, limit: number): Promise<number>;
  /** Erases whole bodies of requests before `before`, of at most `limit` requests. Returns the number. */
  eraseFullBodies(before: Date, limit: number): Promise<number>;
  /** Returns the accounts among these that log whole bodies, or did within the last day. */
  fullBodies(accountIds: readonly string[]): Promise<ReadonlyMap<string, FullBodies>>;
  setFullBodies(accountId: string, time: FullBodies): Promise<void>;
}
