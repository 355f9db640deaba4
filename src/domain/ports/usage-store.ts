import type { UsageQuery, UsageRow } from '../usage/usage.ts';

export interface UsageStore {
  /** Counts of the hours that begin before `to` and end after `from`, by time. */
  query(accountId: string, query: UsageQuery): Promise<readonly UsageRow[]>;
  /** Folds what batches have added into the hours' counts. Nothing is counted twice or missed while it runs. */
  fold(): Promise<void>;
}
