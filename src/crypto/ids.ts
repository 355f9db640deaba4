import { randomBytes, randomUUIDv7 } from 'node:crypto';
import type { Clock, Ids } from '../domain/ports/system.ts';

/** UUIDv7 ids with the time of `clock`, which rows are stored with too: expiry searches by the time in an id. */
export function createIds(clock: Clock): Ids {
  return {
    uuid: () => {
      const time = clock.now().getTime().toString(16).padStart(12, '0');
      return `${time.slice(0, 8)}-${time.slice(8)}${randomUUIDv7().slice(13)}`;
    },
    random: (bytes) => randomBytes(bytes),
  };
}
