import type { AccountEnvironment, Visibility } from '../caller.ts';
import type { Device } from '../devices/device.ts';
import type { KeyRange, Page, PageRequest } from '../paging.ts';

export interface DeviceStore {
  /**
   * Stores a device. If its environment has a device with the same token, updates that device. Returns the stored
   * device.
   */
  upsert(device: Device): Promise<Device>;
  find(visibility: Visibility, id: string): Promise<Device | undefined>;
  findVisible(visibility: Visibility, ids: readonly string[]): Promise<readonly Device[]>;
  /** Returns a page of devices, newest first. */
  page(owner: AccountEnvironment, request: PageRequest): Promise<Page<Device>>;
  /** Returns devices by id, newest first. */
  slice(owner: AccountEnvironment, range: KeyRange): Promise<readonly Device[]>;
  count(owner: AccountEnvironment): Promise<number>;
  /** Returns up to `limit` devices that belong to these users or have these ids, oldest first. */
  targets(
    owner: AccountEnvironment,
    userIds: readonly string[],
    deviceIds: readonly string[],
    limit: number,
  ): Promise<readonly Device[]>;
  /** Returns devices of any account by id. Only the submission of messages uses it. */
  findMany(ids: readonly string[]): Promise<readonly Device[]>;
  /** Deletes devices. Returns the number of deleted devices. */
  remove(visibility: Visibility, ids: readonly string[]): Promise<number>;
}
