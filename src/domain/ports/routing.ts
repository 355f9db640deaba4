import type { Channel } from '../messages/message.ts';
import type { Provider, ProviderHealth, ReportSink, Submission } from './provider.ts';

/** Which providers carry what. A **route** has a name (the jobs' group) and providers in the order of failover. */
export interface Routing {
  /** The route for an address, undefined when no provider is configured for the channel. */
  routeFor(channel: Channel, address: string): string | undefined;
  /** The providers of a route, best first; empty when the route is gone from the configuration. */
  providers(route: string): readonly Provider<Submission>[];
  health(): readonly ProviderHealth[];
  /** Opens every provider. */
  start(onReports: ReportSink): void;
  stop(): Promise<void>;
}
