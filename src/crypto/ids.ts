import { randomBytes, randomUUIDv7 } from 'node:crypto';
import type { Clock, Ids } from '../domain/ports/system.ts';

export const systemIds: Ids = {
  uuid: () => randomUUIDv7(),
  random: (bytes) => randomBytes(bytes),
};

export const systemClock: Clock = { now: () => new Date() };
