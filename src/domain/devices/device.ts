import type { Environment } from '../caller.ts';

/**
 * A **device** is an installation of an account's app, or a browser, that receives push messages (R24). Its token is
 * unique in its environment of the account; registering it again updates the device. On the web the token is the
 * endpoint's URL, and messages are encrypted with the device's keys.
 */
export const PLATFORMS = ['ios', 'android', 'web'] as const;
export type Platform = (typeof PLATFORMS)[number];

/** The keys of a browser's subscription in base64url: 65 bytes and 16 bytes. */
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
  /** The user of the device, in the account's own ids. */
  readonly userId: string;
  readonly createdAt: Date;
  /** When the token was last registered. */
  readonly updatedAt: Date;
}

/** The address of a device as a recipient. Its platform selects the route. */
export function deviceAddress({ platform, id }: Pick<Device, 'platform' | 'id'>): string {
  return `${platform}:${id}`;
}

/** The device id in an address. */
export function deviceIdIn(address: string): string {
  return address.slice(address.indexOf(':') + 1);
}
