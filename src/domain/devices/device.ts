import type { Environment } from '../caller.ts';

/**
 * A **device** is one installation of an account's app, or one browser, that push messages can reach (R24).
 * Its token names it to its platform and is unique within its environment of the account:
 * registering a token again updates the device that has it. On the web the token is the endpoint's address, and messages are encrypted with the device's keys.
 */
export const PLATFORMS = ['ios', 'android', 'web'] as const;
export type Platform = (typeof PLATFORMS)[number];

/** What a browser's subscription holds besides its endpoint, base64url: 65 bytes and 16 bytes. */
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
  /** Present exactly on the web. */
  readonly keys: DeviceKeys | null;
  /** Who uses it, by the account's own naming: what a push message is sent to. */
  readonly userId: string;
  readonly createdAt: Date;
  /** When the token was last registered. */
  readonly updatedAt: Date;
}

/** The address of a message's recipient that is a device: routes are chosen by its platform. */
export function deviceAddress({ platform, id }: Pick<Device, 'platform' | 'id'>): string {
  return `${platform}:${id}`;
}

/** The id of the device that an address names. */
export function deviceIdIn(address: string): string {
  return address.slice(address.indexOf(':') + 1);
}
