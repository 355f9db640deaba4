import type { Channel } from '../domain/messages/message.ts';
import { type Measurements, UNMEASURED } from '../domain/ports/measurements.ts';
import type { Provider, Submission } from '../domain/ports/provider.ts';
import type { ProbedProvider, Routing } from '../domain/ports/routing.ts';
import { numberOfRoute } from '../domain/senders/whatsapp-numbers.ts';
import { CircuitBreaker } from './circuit-breaker.ts';

/**
 * One route of a channel. A recipient whose address starts with `prefix` is sent to through `providers`, in their
 * order. The prefix has digits, or names a platform for push, such as `ios:`. An empty prefix matches all addresses.
 */
export interface Route {
  readonly channel: Channel;
  readonly prefix: string;
  readonly providers: readonly Provider<Submission>[];
}

/**
 * Creates the routing. `numberProvider` makes the provider of a WhatsApp number of an account, given by the platform's
 * id. Undefined: WhatsApp is not configured. The route with the longest matching prefix is used, and its providers are tried in order (R225).
 * Each provider has one circuit breaker, even if several routes use it.
 */
export function createRouting(
  routes: readonly Route[],
  measurements: Pick<Measurements, 'submitted'> = UNMEASURED,
  numberProvider?: (phoneNumberId: string) => Provider<Submission>,
): Routing {
  const breakers = new Map(
    labelled(routes).map(([provider, label]) => [
      provider,
      new CircuitBreaker(provider, { label, measurements }),
    ]),
  );
  const byName = new Map(
    routes.map((route) => [
      nameOf(route),
      route.providers.flatMap((provider) => breakers.get(provider) ?? []),
    ]),
  );
  for (const [name, own] of Map.groupBy(breakers.values(), ({ name }) => name)) {
    byName.set(routeThrough(name), own);
  }
  /** Names of the routes, by channel and prefix. */
  const names = new Map(
    [...Map.groupBy(routes, ({ channel }) => channel)].map(([channel, own]) => [
      channel,
      new Map(own.map((route) => [route.prefix, nameOf(route)])),
    ]),
  );
  const channels = [...new Set(routes.map((route) => route.channel))];
  const longest = Math.max(0, ...routes.map((route) => route.prefix.length));
  const configured = [...breakers.values()];
  /** The providers of WhatsApp numbers of accounts, by the platform's id. */
  const numbers = new Map<string, CircuitBreaker<Submission>>();
  let sinks: Parameters<Routing['start']> | undefined;
  const ofNumber = (phoneNumberId: string): CircuitBreaker<Submission> | undefined => {
    const known = numbers.get(phoneNumberId);
    if (known || !numberProvider) return known;
    const made = new CircuitBreaker(numberProvider(phoneNumberId), { measurements });
    if (sinks) made.start(...sinks);
    numbers.set(phoneNumberId, made);
    return made;
  };
  const providersOf = (route: string) => {
    const phoneNumberId = numberOfRoute(route);
    if (phoneNumberId === undefined) return byName.get(route) ?? [];
    return ofNumber(phoneNumberId) ?? [];
  };
  const all = () => [...configured, ...numbers.values()];
  return {
    routeFor(channel, address) {
      const own = names.get(channel);
      const start = address.startsWith('+') ? 1 : 0;
      for (let end = Math.min(start + longest, address.length); own && end >= start; end--) {
        const name = own.get(address.slice(start, end));
        if (name !== undefined) return name;
      }
      return undefined;
    },
    routeThrough,
    providers: (route) => [providersOf(route)].flat(),
    keepNumbers(phoneNumberIds) {
      const kept = new Set(phoneNumberIds);
      const gone = [...numbers].filter(([id]) => !kept.has(id));
      for (const [id] of gone) numbers.delete(id);
      for (const id of kept) ofNumber(id);
      // Nobody waits for their last answers: the submissions themselves do.
      void Promise.allSettled(gone.map(([, provider]) => provider.stop()));
    },
    health: () => all().map((provider) => provider.health()),
    status: () => [
      ...channels.flatMap((channel) =>
        [...breakers].flatMap(([provider, breaker]) => {
          const own = routes.filter(
            (route) => route.channel === channel && route.providers.includes(provider),
          );
          if (own.length === 0) return [];
          return [{ ...breaker.status(), channel, prefixes: own.map((route) => route.prefix) }];
        }),
      ),
      ...[...numbers.values()].map((provider) => ({
        ...provider.status(),
        channel: 'whatsapp' as const,
        prefixes: [],
      })),
    ],
    async probe(which) {
      const asked = all().filter(({ tellsBalance }) => which === 'all' || tellsBalance);
      const settled = await Promise.allSettled(asked.map((provider) => provider.probe?.()));
      return settled.flatMap((result, index): ProbedProvider[] => {
        const name = asked[index]?.label ?? '';
        if (result.status === 'rejected')
          return [
            { name, fault: result.reason instanceof Error ? result.reason.message : String(result.reason) },
          ];
        return result.value ? [{ name, probe: result.value }] : [];
      });
    },
    start(onReports, onInbound) {
      sinks = [onReports, onInbound];
      for (const provider of all()) provider.start(onReports, onInbound);
    },
    async stop() {
      await Promise.all(all().map((provider) => provider.stop()));
    },
  };
}

/**
 * Returns each provider with its label for health and metrics. The label is the provider's name. If several providers
 * have the same name, `#2` and so on are appended. The names themselves do not change, because reports are matched by
 * name: an SMSC sends a report over any session of an account.
 */
function labelled(routes: readonly Route[]): [Provider<Submission>, string][] {
  const providers = [...new Set(routes.flatMap((route) => route.providers))];
  const times = new Map<string, number>();
  return providers.map((provider) => {
    const time = (times.get(provider.name) ?? 0) + 1;
    times.set(provider.name, time);
    return [provider, time === 1 ? provider.name : `${provider.name}#${time}`];
  });
}

function routeThrough(provider: string): string {
  return `through ${provider}`;
}

function nameOf({ channel, prefix }: Route): string {
  return `${channel}:${prefix === '' ? '*' : prefix}`;
}
