import type { Logger } from '../../domain/ports/logger.ts';
import type { Provider, SmsSubmission } from '../../domain/ports/provider.ts';
import type { Route } from '../routing.ts';
import { SimulatorCarrier } from './simulator-carrier.ts';
import { createSmppCarrier } from './smpp-carrier.ts';

/** How each kind of URL in SMS_ROUTES becomes a carrier; a new carrier is one file and one line here. */
const CARRIERS: Readonly<Record<string, (url: string, logger: Logger) => Provider<SmsSubmission>>> = {
  'simulator:': (_url, logger) => new SimulatorCarrier(logger),
  'smpp:': (url, logger) => createSmppCarrier({ url, logger }),
  'smpps:': (url, logger) => createSmppCarrier({ url, logger }),
};

/** The SMS routes of the configuration; a URL that stands in several routes is one carrier. */
export function smsRoutes(
  routes: readonly { readonly prefix: string; readonly urls: readonly string[] }[],
  logger: Logger,
): Route[] {
  const carriers = new Map<string, Provider<SmsSubmission>>();
  const carrierFor = (url: string): Provider<SmsSubmission> => {
    const known = carriers.get(url);
    if (known) return known;
    const create = CARRIERS[url.slice(0, url.indexOf(':') + 1)];
    if (!create) throw new Error(`there is no carrier for ${url.split(':')[0]}: addresses`);
    const carrier = create(url, logger);
    carriers.set(url, carrier);
    return carrier;
  };
  return routes.map((route) => ({
    channel: 'sms',
    prefix: route.prefix,
    providers: route.urls.map(carrierFor),
  }));
}
