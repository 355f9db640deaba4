import type { Channel } from '../messages/message.ts';
import type { Provider, ProviderHealth, ReportSink, Submission } from './provider.ts';

/** Counts of a provider's submissions in the last five minutes. */
export interface ProviderRecord {
  readonly submitted: number;
  readonly rejected: number;
  /** Not accepted, and retried or submitted to another provider. */
  readonly failed: number;
  /** Text of the last failure, without secrets. */
  readonly lastError: string | null;
  readonly lastErrorAt: Date | null;
  readonly lastSuccessAt: Date | null;
}

/** **Degraded**: reachable, but the last submission failed. */
export const PROVIDER_STATES = ['up', 'degraded', 'down', 'starting'] as const;
export type ProviderState = (typeof PROVIDER_STATES)[number];

/** The status of a provider in a channel, for operators. */
export interface ProviderStatus extends ProviderRecord {
  readonly name: string;
  readonly channel: Channel;
  /** Prefixes of its routes: leading digits, '' for all. */
  readonly prefixes: readonly string[];
  readonly state: ProviderState;
  readonly detail: string | null;
  readonly inFlight: number;
}

/**
 * Which providers carry which addresses. A **route** has a name, which is the route key of its jobs, and providers
 * in failover order.
 */
export interface Routing {
  /** The route for an address; undefined when no provider is configured for it. */
  routeFor(channel: Channel, address: string): string | undefined;
  /** The providers of a route in failover order; empty when it is no longer configured. */
  providers(route: string): readonly Provider<Submission>[];
  health(): readonly ProviderHealth[];
  /** By channel, in the order of its routes. */
  status(): readonly ProviderStatus[];
  /** Starts every provider. */
  start(onReports: ReportSink): void;
  stop(): Promise<void>;
}

/** The status of the providers, as each worker process publishes it. */
export interface ProviderHealthStore {
  /** Replaces the statuses of `process`, and deletes those published before `forgetBefore`. */
  publish(process: string, statuses: readonly ProviderStatus[], at: Date, forgetBefore: Date): Promise<void>;
  withdraw(process: string): Promise<void>;
  /** Statuses published since a time, by channel, provider and process. */
  publishedSince(
    time: Date,
  ): Promise<readonly (ProviderStatus & { readonly process: string; readonly seenAt: Date })[]>;
}
