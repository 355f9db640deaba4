import type { AccountEnvironment } from '../caller.ts';
import type { Cache, CreateCache } from '../ports/changes.ts';
import type { Routing } from '../ports/routing.ts';
import type { SenderStore, WhatsAppNumber } from '../ports/sender-store.ts';
import { ALL_SENDERS } from './check-sender.ts';

const ROUTE = 'whatsapp number ';

/** Returns the route that leads through a WhatsApp number of an account. `phoneNumberId` is the platform's id of it. */
export function routeOfNumber(phoneNumberId: string): string {
  return `${ROUTE}${phoneNumberId}`;
}

/** Returns the platform's id of the WhatsApp number that a route leads through. Undefined for other routes. */
export function numberOfRoute(route: string): string | undefined {
  return route.startsWith(ROUTE) ? route.slice(ROUTE.length) : undefined;
}

/** True if `from` is a number of an account, and not the shared one: a sender ID has letters and digits only. */
export function isOwnNumber(from: string): boolean {
  return from.startsWith('+');
}

/** How the WhatsApp messages of an account leave. */
export interface WhatsAppLine {
  /** The account's own number in E.164, or the default sender ID for the shared number. */
  readonly from: string;
  /** The route of the account's own number. Undefined: the route of the channel. */
  readonly routeKey: string | undefined;
  /** Name of the provider of the number. Undefined if WhatsApp is not configured. */
  readonly provider: string | undefined;
}

interface Needs {
  readonly stores: { readonly senders: Pick<SenderStore, 'whatsAppNumbers'> };
  readonly createCache: CreateCache;
  readonly routing: Pick<Routing, 'routeFor' | 'providers' | 'keepNumbers'>;
  readonly settings: { readonly defaultSenderId: string };
}

/** The WhatsApp numbers of accounts (R550). Cached until a change of senders is announced. */
export class WhatsAppNumbers {
  readonly #routing: Needs['routing'];
  readonly #settings: Needs['settings'];
  readonly #byAccount: Cache<ReadonlyMap<string, WhatsAppNumber>>;

  constructor({ stores, createCache, routing, settings }: Needs) {
    this.#routing = routing;
    this.#settings = settings;
    this.#byAccount = createCache('senders', async () => {
      const all = await stores.senders.whatsAppNumbers();
      return new Map(all.map((number) => [number.accountId, number]));
    });
  }

  /** Returns how messages of an account to `to` leave. Sandbox messages leave for nobody, so no number is theirs. */
  async lineOf({ accountId, environment }: AccountEnvironment, to: string): Promise<WhatsAppLine> {
    const own =
      environment === 'production' ? (await this.#byAccount.get(ALL_SENDERS)).get(accountId) : undefined;
    const routeKey = own && routeOfNumber(own.phoneNumberId);
    const provider = this.#providerOf(routeKey ?? this.#routing.routeFor('whatsapp', to));
    if (own === undefined || provider === undefined) {
      return { from: this.#settings.defaultSenderId, routeKey: undefined, provider };
    }
    return { from: own.number, routeKey, provider };
  }

  /** False if the route leads through a WhatsApp number that does not belong to the account, or no longer (R552). */
  async mayUse(accountId: string, route: string): Promise<boolean> {
    const phoneNumberId = numberOfRoute(route);
    if (phoneNumberId === undefined) return true;
    const isOwn = (all: ReadonlyMap<string, WhatsAppNumber>) =>
      all.get(accountId)?.phoneNumberId === phoneNumberId;
    if (isOwn(await this.#byAccount.get(ALL_SENDERS))) return true;
    // Another process may have accepted the message before this one heard that the number was assigned.
    return isOwn(await this.#byAccount.renew(ALL_SENDERS));
  }

  /** Gives each number a provider, whose health operators see, and stops those of numbers that no account has now. */
  async keepProviders(): Promise<void> {
    const numbers = await this.#byAccount.get(ALL_SENDERS);
    this.#routing.keepNumbers([...numbers.values()].map(({ phoneNumberId }) => phoneNumberId));
  }

  #providerOf(route: string | undefined): string | undefined {
    return route === undefined ? undefined : this.#routing.providers(route)[0]?.name;
  }
}
