import type { ProviderStatus } from './routing.ts';

/** What the worker processes say of their carriers and providers, each for itself. */
export interface ProviderHealthStore {
  /** Puts in place what `process` says; what anybody said before `forgetBefore` is forgotten. */
  publish(process: string, statuses: readonly ProviderStatus[], at: Date, forgetBefore: Date): Promise<void>;
  withdraw(process: string): Promise<void>;
  /** What was said since, by channel, provider and process. */
  saidSince(
    time: Date,
  ): Promise<readonly (ProviderStatus & { readonly process: string; readonly seenAt: Date })[]>;
}
