import type { Channel } from '../messages/message.ts';
import type { Provider, ProviderHealth, ReportSink, Submission } from './provider.ts';

/** What became of what a provider was handed in the last five minutes. */
export interface ProviderRecord {
  readonly submitted: number;
  readonly rejected: number;
  /** Not taken, and tried again or elsewhere. */
  readonly failed: number;
  /** Its words for the last one that was not taken; no secret is in them. */
  readonly lastError: string | null;
  readonly lastErrorAt: Date | null;
  readonly lastSuccessAt: Date | null;
}

/** **Degraded**: it can be reached, and did not take what it was handed last. */
export const PROVIDER_STATES = ['up', 'degraded', 'down', 'starting'] as const;
export type ProviderState = (typeof PROVIDER_STATES)[number];

/** How a provider of a channel is, for those who run the platform. */
export interface ProviderStatus extends ProviderRecord {
  readonly name: string;
  readonly channel: Channel;
  /** Of its routes: leading digits, '' for all. */
  readonly prefixes: readonly string[];
  readonly state: ProviderState;
  readonly detail: string | null;
  readonly inFlight: number;
}

/** Which providers carry what. A **route** has a name (the route key of its jobs) and providers in the order of failover. */
export interface Routing {
  /** The route for an address, undefined when no provider is configured for the channel. */
  routeFor(channel: Channel, address: string): string | undefined;
  /** The providers of a route, best first; empty when the route is gone from the configuration. */
  providers(route: string): readonly Provider<Submission>[];
  health(): readonly ProviderHealth[];
  /** By channel, in the order of its routes. */
  status(): readonly ProviderStatus[];
  /** Opens every provider. */
  start(onReports: ReportSink): void;
  stop(): Promise<void>;
}

/** What the worker processes say of their carriers and providers, each for itself. */
export interface ProviderHealthStore {
  /** Puts in place what `process` says; what anybody said before `forgetBefore` is forgotten. */
  publish(process: string, statuses: readonly ProviderStatus[], at: Date, forgetBefore: Date): Promise<void>;
  withdraw(process: string): Promise<void>;
  /** What was said since, by channel, provider and process. */
  publishedSince(
    time: Date,
  ): Promise<readonly (ProviderStatus & { readonly process: string; readonly seenAt: Date })[]>;
}
