/** The **end** of a key: it was revoked, or its time has passed. What has ended is never changed or revived. */
import { DomainError } from '../errors.ts';
import type { ApiKey } from './api-key.ts';

type Ending = Pick<ApiKey, 'expiresAt' | 'rotatedAt' | 'revokedAt'>;

const keyEnded = (message: string) => new DomainError('key_ended', message);

/** Whether the key works no more at `now`. */
export function hasEnded(key: Ending, now: Date): boolean {
  return key.revokedAt !== null || (key.expiresAt !== null && key.expiresAt <= now);
}

/** Throws `key_ended` for a key that was revoked, has expired, or was rotated and is past its overlap. */
export function refuseEnded(key: Ending, now: Date): void {
  if (!hasEnded(key, now)) return;
  const how = key.revokedAt ? 'was revoked' : key.rotatedAt ? 'was rotated' : 'has expired';
  const at = (key.revokedAt ?? key.expiresAt)?.toISOString();
  throw keyEnded(`The API key ${how} and ended at ${at}: it cannot be changed. Create a new one.`);
}

/** Throws `key_ended` when a key that another one replaced would be replaced again. */
export function refuseRotated({ rotatedAt }: Ending): void {
  if (!rotatedAt) return;
  const when = rotatedAt.toISOString();
  throw keyEnded(`The API key was rotated at ${when}. Rotate the key that replaced it.`);
}

/** Throws `key_ended` when a key that another one replaced would end later than its overlap does. */
export function refuseLaterEnd({ rotatedAt, expiresAt }: Ending, later: Date | null): void {
  if (!rotatedAt || !expiresAt || (later && later <= expiresAt)) return;
  throw keyEnded(
    `The API key was rotated and ends at ${expiresAt.toISOString()}: it can end sooner, not later.`,
  );
}
