import type { Logger } from '../../domain/ports/logger.ts';
import type { Provider, SmsSubmission } from '../../domain/ports/provider.ts';
import type { ReadSmsCallback } from '../../domain/ports/sms-callbacks.ts';
import type { Route } from '../routing.ts';
import { createAfricasTalkingCarrier } from './africastalking-carrier.ts';
import { HttpCarrier } from './http-carrier.ts';
import { SimulatorCarrier } from './simulator-carrier.ts';
import { createSmppCarrier } from './smpp/smpp-carrier.ts';
import { createTwilioCarrier } from './twilio-carrier.ts';

export interface CarrierContext {
  readonly logger: Logger;
  /** The external URL of the gateway. */
  readonly publicUrl: string;
  /** True in production. A carrier is then refused if anybody could forge its delivery reports. */
  readonly isProduction?: boolean;
  /** The clock for deadlines. Default: the clock of the process. */
  readonly now?: (() => Date) | undefined;
}

/** Creates a carrier for each URL scheme in SMS_ROUTES. A new carrier needs one file and one line here. */
const CARRIERS: Readonly<Record<string, (url: string, context: CarrierContext) => Provider<SmsSubmission>>> =
  {
    'simulator:': (_url, { logger }) => new SimulatorCarrier(logger),
    'smpp:': (url, { logger, now }) => createSmppCarrier({ url, logger, now }),
    'smpps:': (url, { logger, now }) => createSmppCarrier({ url, logger, now }),
    'africastalking:': (url, { now }) => createAfricasTalkingCarrier({ url, now }),
    'twilio:': (url, { publicUrl, now }) => createTwilioCarrier({ url, publicUrl, now }),
  };

/**
 * Returns the configured SMS routes, and a function that reads the callbacks of their carriers. If a URL is in several
 * routes, they share one carrier. Throws an Error that says what is wrong with a URL and what to change.
 */
export function smsRoutes(
  routes: readonly { readonly prefix: string; readonly urls: readonly string[] }[],
  context: CarrierContext,
): { readonly routes: Route[]; readonly readCallback: ReadSmsCallback } {
  const carriers = new Map<string, Provider<SmsSubmission>>();
  const carrierFor = (url: string): Provider<SmsSubmission> => {
    const known = carriers.get(url);
    if (known) return known;
    const create = CARRIERS[url.slice(0, url.indexOf(':') + 1)];
    if (!create) throw new Error(`there is no carrier for ${url.split(':')[0]}: addresses`);
    const carrier = create(url, context);
    carriers.set(url, carrier);
    return carrier;
  };
  const made = routes.map(
    (route): Route => ({ channel: 'sms', prefix: route.prefix, providers: route.urls.map(carrierFor) }),
  );
  const overHttp = [...carriers.values()].filter((carrier) => carrier instanceof HttpCarrier);
  for (const { name, api } of overHttp) {
    if (api.openCallbacks === undefined) continue;
    if (context.isProduction)
      throw new Error(`callbacks of ${name} carry no proof of their sender: ${api.openCallbacks}`);
    context.logger.warn(
      { carrier: name, risk: api.openCallbacks },
      'delivery reports of a carrier carry no proof of their sender',
    );
  }
  return { routes: made, readCallback: readCallbacks(overHttp) };
}

/**
 * Returns a function that reads callbacks. All accounts of the operator at one kind of carrier share a path. A callback
 * belongs to the first account that accepts it. So accounts that accept any callback come last.
 */
function readCallbacks(overHttp: readonly HttpCarrier[]): ReadSmsCallback {
  const isOpen = ({ api }: HttpCarrier) => api.openCallbacks !== undefined;
  const carriers = [...overHttp.filter((carrier) => !isOpen(carrier)), ...overHttp.filter(isOpen)];
  return (callback) => {
    const asked = carriers.filter(({ api }) => api.kind === callback.carrier);
    for (const carrier of asked) {
      const { api, name: provider } = carrier;
      const reports = api.readCallback(callback);
      if (!reports) continue;
      // Without proof, anybody could stop the messages to any number.
      const isProven = !isOpen(carrier);
      const inbound = isProven ? api.readInbound?.(callback.form) : undefined;
      return { kind: 'reports', provider, reports, inbound, inboundAnswer: api.inboundAnswer, isProven };
    }
    return { kind: asked.length > 0 ? 'refused' : 'unknown' };
  };
}
