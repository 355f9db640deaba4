import type { Environment } from '../caller.ts';

/**
 * A **device** is an installation of an account's app, or a browser, that receives push messages (R24). Its token is
 * unique in one environment of the account. Registering the same token again updates the device. On the web, the token
 * is the URL of the browser's push endpoint, and messages are encrypted with the keys of the device.
 */
export const PLATFORMS = ['ios', 'android', 'web'] as const;
export type Platform = (typeof PLATFORMS)[number];

/** The keys of a browser's push subscription in base64url. `p256dh` has 65 bytes and `auth` has 16. */
export interface DeviceKeys {
  readonly p256dh: string;
  readonly auth: string;
}

export interface Device {
  readonly id: string;
  readonly accountId: string;
  readonly environment: Environment;
  readonly platform: Platform;
  readonly token: string;
  /** Set only on the web. */
  readonly keys: DeviceKeys | null;
  /** The user of the device, by the account's own user id. */
  readonly userId: string;
  readonly createdAt: Date;
  /** When the token was last registered. */
  readonly updatedAt: Date;
}

/** Returns the address of a device as a recipient. The platform in it selects the route. */
export function deviceAddress({ platform, id }: Pick<Device, 'platform' | 'id'>): string {
  return `${platform}:${id}`;
}

/** Returns the device id that such an address contains. */
export function deviceIdIn(address: string): string {
  return address.slice(address.indexOf(':') + 1);
}
