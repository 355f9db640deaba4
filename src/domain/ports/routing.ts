import type { Channel } from '../messages/message.ts';
import type { Span } from './analytics-store.ts';
import type {
  InboundSink,
  Provider,
  ProviderHealth,
  ProviderProbe,
  ReportSink,
  Submission,
} from './provider.ts';

/** Counts of a provider's submissions in the last five minutes. */
export interface ProviderRecord {
  readonly submitted: number;
  readonly rejected: number;
  /** Number of submissions that the provider did not accept and that were then retried or given to another provider. */
  readonly failed: number;
  /** Text of the last failure, without secrets. */
  readonly lastError: string | null;
  readonly lastErrorAt: Date | null;
  readonly lastSuccessAt: Date | null;
}

/** The states of a provider. `degraded` means that it is reachable, but its last submission failed. */
export const PROVIDER_STATES = ['up', 'degraded', 'down', 'starting'] as const;
export type ProviderState = (typeof PROVIDER_STATES)[number];

/** The status of a provider on one channel, shown to operators. */
export interface ProviderStatus extends ProviderRecord {
  readonly name: string;
  readonly channel: Channel;
  /** Prefixes of the routes that use the provider: leading digits of phone numbers. An empty text means all numbers. */
  readonly prefixes: readonly string[];
  readonly state: ProviderState;
  readonly detail: string | null;
  readonly inFlight: number;
}

/**
 * The answer of a provider to its probe, or the reason why there is none. `name` is the provider's label in health and
 * metrics.
 */
export type ProbedProvider = { readonly name: string } & (
  | { readonly probe: ProviderProbe }
  | { readonly fault: string }
);

/**
 * Decides which providers carry which addresses. A **route** has a name and a list of providers. The first provider is
 * tried first, and the others if it fails. Jobs use the name of the route as their route key.
 */
export interface Routing {
  /** Returns the route for an address. Undefined if no provider is configured for it. */
  routeFor(channel: Channel, address: string): string | undefined;
  /** Returns the route that leads through this provider alone, for an answer to a text that came from it (R380). */
  routeThrough(provider: string): string;
  /**
   * Returns the providers of a route in failover order. Empty if the route is no longer configured. The route through a
   * WhatsApp number of an account has one provider, which is made when it is first asked for.
   */
  providers(route: string): readonly Provider<Submission>[];
  /**
   * Makes the providers of these WhatsApp numbers of accounts, given by the platform's id. Stops the providers of all
   * others.
   */
  keepNumbers(phoneNumberIds: readonly string[]): void;
  health(): readonly ProviderHealth[];
  /** Returns the status of all providers, by channel, in the order of the channel's routes. */
  status(): readonly ProviderStatus[];
  /**
   * Runs the probe of each provider that has one. Or runs it only for the providers whose probe returns a balance.
   * Sends no message. Never rejects.
   */
  probe(which: 'all' | 'balances'): Promise<readonly ProbedProvider[]>;
  /** Starts every provider. */
  start(onReports: ReportSink, onInbound: InboundSink): void;
  stop(): Promise<void>;
}

/** The status of a provider, as a worker process published it. */
export interface PublishedStatus extends ProviderStatus {
  readonly process: string;
  readonly seenAt: Date;
}

/** How long a carrier or provider was up on one day, as all worker processes together saw it. */
export interface ProviderDay {
  /** Start of the day, in UTC. */
  readonly day: Date;
  readonly channel: Channel;
  readonly name: string;
  readonly upSeconds: number;
  readonly downSeconds: number;
}

/** Stores the status of the providers, as each worker process publishes it. */
export interface ProviderHealthStore {
  /**
   * Replaces the statuses of `process`. Deletes statuses published before `forgetBefore`, because their processes have
   * stopped.
   */
  publish(process: string, statuses: readonly ProviderStatus[], at: Date, forgetBefore: Date): Promise<void>;
  /**
   * Adds the seconds since the last publication of a process to the day of `at`: to the time up of the providers that
   * were up then, and to the time down of the others (R512). Deletes days before `forgetBefore`.
   */
  countUptime(
    statuses: readonly ProviderStatus[],
    seconds: number,
    at: Date,
    forgetBefore: Date,
  ): Promise<void>;
  /** Returns how long providers were up on the days that begin in the span, by day, channel and name. */
  days(span: Span): Promise<readonly ProviderDay[]>;
  withdraw(process: string): Promise<void>;
  /** Returns the statuses published since `time`, by channel, provider and process. */
  publishedSince(time: Date): Promise<readonly PublishedStatus[]>;
}
