/** Makes the routes for push and WhatsApp from the configuration. */
import { join } from 'node:path';
import type { GuardedClient } from '../channels/guarded-http/guarded-client.ts';
import { PushSettingFault, pushRoutes } from '../channels/push/push-routes.ts';
import { checkVapidKeys, makeVapidKeys, readVapidKeys, type VapidKeys } from '../channels/push/vapid-keys.ts';
import type { Route } from '../channels/routing.ts';
import { SimulatorCarrier } from '../channels/sms/simulator-carrier.ts';
import { createCloudApiCallbacks } from '../channels/whatsapp/cloud-api-callbacks.ts';
import { askCloudApi, CloudApiProvider, cloudApiName } from '../channels/whatsapp/cloud-api-provider.ts';
import { type Config, ConfigError } from '../config/config.ts';
import { loadOrCreate } from '../crypto/load-or-create.ts';
import type { Logger } from '../domain/ports/logger.ts';
import type { AskAboutNumber } from '../domain/ports/whatsapp.ts';

/** Returns the push routes, and the public VAPID key that browsers need to subscribe. Throws `ConfigError`. */
export async function pushOf(
  config: Config,
  logger: Logger,
  client: GuardedClient,
  now: () => Date,
): Promise<{ routes: Route[]; vapidPublicKey: string | undefined }> {
  const { fcm, apns, vapid, isProduction } = config;
  const keys = await vapidKeysOf(config, logger);
  // Production never uses the simulator unless the configuration names it.
  const hasSimulator = !isProduction && fcm === undefined && apns === undefined;
  try {
    const web = keys && { keys, subject: vapid.subject };
    return {
      routes: pushRoutes({ fcm, apns, vapid: web, hasSimulator, now }, client),
      vapidPublicKey: keys?.publicKey,
    };
  } catch (error) {
    if (!(error instanceof PushSettingFault)) throw error;
    throw new ConfigError(`${error.variable} cannot be used: ${error.message}.`);
  }
}

async function vapidKeysOf(config: Config, logger: Logger): Promise<VapidKeys | undefined> {
  const { keys } = config.vapid;
  if (keys === undefined) {
    try {
      const path = join(config.dataDir, 'vapid.json');
      return readVapidKeys(path, await loadOrCreate(path, makeVapidKeys));
    } catch (error) {
      // If DATA_DIR is not writable, the gateway starts without Web Push. Any other error is thrown.
      if (typeof (error as { code?: unknown }).code !== 'string') throw error;
      logger.warn({ err: error }, 'no VAPID keys: Web Push needs a writable DATA_DIR or VAPID_PUBLIC_KEY');
      return undefined;
    }
  }
  try {
    return checkVapidKeys(keys);
  } catch (error) {
    const why = error instanceof Error ? error.message : error;
    throw new ConfigError(`VAPID_PUBLIC_KEY and VAPID_PRIVATE_KEY cannot be used: ${why}.`);
  }
}

/**
 * Returns the route for WhatsApp, the parser of WhatsApp's callbacks, and for numbers of accounts what makes their
 * providers and what asks the platform about them.
 */
export function whatsAppOf({ whatsApp, isProduction }: Config, logger: Logger, now: () => Date) {
  const { provider: settings, appSecret, verifyToken } = whatsApp;
  const simulatorName = 'whatsapp-simulator';
  /** Returns the name of the provider of a number. */
  const providerOf = settings ? cloudApiName : (phoneNumberId: string) => `${simulatorName}:${phoneNumberId}`;
  /** Makes the provider of a number of an account. It has the app and the token of the gateway. */
  const numberProvider = (phoneNumberId: string) =>
    settings
      ? new CloudApiProvider({ ...settings, phoneNumberId, now })
      : new SimulatorCarrier(logger, { name: providerOf(phoneNumberId), tellsRead: true });
  const shared = settings
    ? numberProvider(settings.phoneNumberId)
    : new SimulatorCarrier(logger, { name: simulatorName, tellsRead: true });
  const isConfigured = settings !== undefined || !isProduction;
  /** Asks with the app and the token of the gateway. The simulator stands for a platform that knows every number. */
  const askAboutNumber: AskAboutNumber = async (phoneNumberId) => {
    if (settings) return askCloudApi({ ...settings, phoneNumberId, now });
    if (isConfigured) return { kind: 'known', number: undefined };
    return { kind: 'unclear', reason: 'WhatsApp is not configured' };
  };
  const routes: Route[] = isConfigured ? [{ channel: 'whatsapp', prefix: '', providers: [shared] }] : [];
  const callbacks = createCloudApiCallbacks({
    provider: shared.name,
    providerOf,
    phoneNumberId: settings?.phoneNumberId,
    appSecret,
    verifyToken,
  });
  return { routes, callbacks, askAboutNumber, numberProvider: isConfigured ? numberProvider : undefined };
}
