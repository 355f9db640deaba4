import type { Home, Reach } from '../caller.ts';
import type { Device } from '../devices/device.ts';
import type { KeyRange } from '../paging.ts';
import type { Page, PageRequest } from './page.ts';

export interface DeviceStore {
  /** Stores a device, or updates the one of its environment that has its token; returns what is stored then. */
  upsert(device: Device): Promise<Device>;
  find(reach: Reach, id: string): Promise<Device | undefined>;
  /** Newest first. */
  page(home: Home, request: PageRequest): Promise<Page<Device>>;
  /** Newest first, by id. */
  slice(home: Home, range: KeyRange): Promise<readonly Device[]>;
  count(home: Home): Promise<number>;
  /** Up to `limit` devices of these users, or with these ids, the oldest first. */
  targets(
    home: Home,
    userIds: readonly string[],
    deviceIds: readonly string[],
    limit: number,
  ): Promise<readonly Device[]>;
  /** Devices of any account by id, for handing messages over. */
  findMany(ids: readonly string[]): Promise<readonly Device[]>;
  /** Forgets devices; how many there were. */
  remove(reach: Reach, ids: readonly string[]): Promise<number>;
}
