import { readFileSync } from 'node:fs';
import type { Platform } from '../../domain/devices/device.ts';
import type { Provider, PushSubmission } from '../../domain/ports/provider.ts';
import type { GuardedClient } from '../guarded-http/guarded-client.ts';
import { pemOf } from '../pem.ts';
import type { Route } from '../routing.ts';
import { ApnsProvider } from './apns-provider.ts';
import { FcmProvider } from './fcm-provider.ts';
import { parseServiceAccount } from './google-token.ts';
import { PushSimulator } from './push-simulator.ts';
import type { VapidKeys } from './vapid-keys.ts';
import { WebPushProvider } from './web-push-provider.ts';

export interface PushSettings {
  /** `credentials` is the path of a service account's JSON file. */
  readonly fcm: { readonly credentials: string; readonly url: string | undefined } | undefined;
  readonly apns:
    | {
        /** The key as PEM, or the path of a PEM file. */
        readonly key: string;
        readonly keyId: string;
        readonly teamId: string;
        readonly topic: string;
        readonly url: string | undefined;
      }
    | undefined;
  readonly vapid: { readonly keys: VapidKeys; readonly subject: string } | undefined;
  /** True if the simulator serves the platforms that have no provider. */
  readonly hasSimulator: boolean;
  /** The clock for deadlines. Default: the clock of the process. */
  readonly now?: (() => Date) | undefined;
}

/** An environment variable that cannot be used, and why. */
export class PushSettingFault extends Error {
  readonly variable: string;

  constructor(variable: string, why: string) {
    super(why);
    this.variable = variable;
  }
}

/**
 * Returns the configured push routes, one for each platform (R24). Without APNs, FCM serves iOS too, because apps may
 * use tokens of Firebase there. Throws `PushSettingFault`.
 */
export function pushRoutes(settings: PushSettings, client: GuardedClient): Route[] {
  const simulator = settings.hasSimulator ? new PushSimulator() : undefined;
  const fcm = settings.fcm && fcmProvider(settings.fcm, settings.now);
  const apns = settings.apns && apnsProvider(settings.apns, settings.now);
  const web = settings.vapid && new WebPushProvider({ client, now: settings.now, ...settings.vapid });
  const providers: Readonly<Record<Platform, Provider<PushSubmission> | undefined>> = {
    android: fcm ?? simulator,
    ios: apns ?? fcm ?? simulator,
    web: web ?? simulator,
  };
  return Object.entries(providers).flatMap(([platform, provider]): Route[] =>
    provider ? [{ channel: 'push', prefix: `${platform}:`, providers: [provider] }] : [],
  );
}

function fcmProvider(
  { credentials, url }: NonNullable<PushSettings['fcm']>,
  now: PushSettings['now'],
): FcmProvider {
  return blaming('FCM_CREDENTIALS', () => {
    const account = parseServiceAccount(readFileSync(credentials, 'utf8'));
    return new FcmProvider({ account, baseUrl: url, now });
  });
}

function apnsProvider(
  { key, url, ...names }: NonNullable<PushSettings['apns']>,
  now: PushSettings['now'],
): ApnsProvider {
  return blaming('APNS_KEY', () => {
    return new ApnsProvider({ key: pemOf(key), baseUrl: url, now, ...names });
  });
}

function blaming<T>(variable: string, make: () => T): T {
  try {
    return make();
  } catch (error) {
    const { code, syscall, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') throw new PushSettingFault(variable, 'there is no such file');
    // The system's message contains the path. If the setting is a key by mistake, that message would reveal it.
    const why = syscall === undefined ? message : `the file cannot be read (${code})`;
    throw new PushSettingFault(variable, why);
  }
}
