import { randomBytes, randomUUIDv7 } from 'node:crypto';
import type { Clock, Ids } from '../domain/ports/system.ts';

/** Creates UUIDv7 ids with the time of `clock`. Rows store the same time, so a search by time can use the ids. */
export function createIds(clock: Clock): Ids {
  return {
    uuid: () => {
      const time = clock.now().getTime().toString(16).padStart(12, '0');
      return `${time.slice(0, 8)}-${time.slice(8)}${randomUUIDv7().slice(13)}`;
    },
    random: (bytes) => randomBytes(bytes),
  };
}
