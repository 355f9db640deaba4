import type { Environment } from '../caller.ts';
import type { AccountFacts, TroubleSpans } from '../platform/account-troubles.ts';
import type { PlatformGroup, PlatformRow, PlatformValues } from '../platform/platform-analytics.ts';
import type { CountedTime, Span } from './analytics-store.ts';

/** What to count. The result has a row for each span, each currency and each combination of the groups. */
export interface PlatformCount {
  readonly spans: readonly Span[];
  readonly groupBy: readonly PlatformGroup[];
  readonly environment: Environment | undefined;
}
/** A row of the result. `span` is the index of the span to which it belongs. */
export interface CountedPlatformRow extends PlatformRow {
  readonly span: number;
}
/** Number of recipients whose time is in one bucket of the histogram (latency.ts). */
export interface PlatformTime extends Pick<CountedTime, 'span' | 'measure' | 'bucket' | 'recipients'> {
  readonly values: Omit<PlatformValues, 'country'> & { readonly prefix: string | null };
}

/** A message that a look-up found, and whose it is. */
export interface FoundMessage {
  readonly id: string;
  readonly accountId: string;
  readonly accountName: string;
}

/** Reads figures and finds messages of all accounts, for operators. */
export interface PlatformStore {
  /** Returns at most `limit` rows. */
  count(asked: PlatformCount, limit: number): Promise<readonly CountedPlatformRow[]>;
  /** Returns the times of recipients, by the same spans and groups as `count`. */
  times(asked: PlatformCount): Promise<readonly PlatformTime[]>;
  /** Returns what is known of the `limit` accounts that sent last. */
  accountFacts(spans: TroubleSpans, limit: number): Promise<readonly AccountFacts[]>;
  /** Returns what is known of these accounts. */
  accountFactsOf(spans: TroubleSpans, accountIds: readonly string[]): Promise<readonly AccountFacts[]>;
  messageById(id: string): Promise<readonly FoundMessage[]>;
  /** Returns messages of which a provider gave a recipient one of these ids (`sidCandidates`), the newest first. */
  messagesBySid(sidKeys: readonly string[], limit: number): Promise<readonly FoundMessage[]>;
  /** Returns the newest messages to an address, of the `accounts` accounts that sent last. */
  messagesTo(address: string, accounts: number, limit: number): Promise<readonly FoundMessage[]>;
}
