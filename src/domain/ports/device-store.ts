import type { AccountEnvironment, Visibility } from '../caller.ts';
import type { Device } from '../devices/device.ts';
import type { KeyRange, Page, PageRequest } from '../paging.ts';

export interface DeviceStore {
  /** Stores a device, or updates the device of its environment with the same token. Returns the stored device. */
  upsert(device: Device): Promise<Device>;
  find(visibility: Visibility, id: string): Promise<Device | undefined>;
  findVisible(visibility: Visibility, ids: readonly string[]): Promise<readonly Device[]>;
  /** Newest first. */
  page(owner: AccountEnvironment, request: PageRequest): Promise<Page<Device>>;
  /** Newest first, by id. */
  slice(owner: AccountEnvironment, range: KeyRange): Promise<readonly Device[]>;
  count(owner: AccountEnvironment): Promise<number>;
  /** Up to `limit` devices of these users or with these ids, oldest first. */
  targets(
    owner: AccountEnvironment,
    userIds: readonly string[],
    deviceIds: readonly string[],
    limit: number,
  ): Promise<readonly Device[]>;
  /** Devices of any account by id, for submitting messages. */
  findMany(ids: readonly string[]): Promise<readonly Device[]>;
  /** Deletes devices. Returns how many. */
  remove(visibility: Visibility, ids: readonly string[]): Promise<number>;
}
