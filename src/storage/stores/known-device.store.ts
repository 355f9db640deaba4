import type { KnownDeviceStore } from '../../domain/ports/people-stores.ts';
import { type Sql, statement } from '../postgres/sql.ts';
import { presentIn } from './user.store.ts';

const PEOPLE_OF = statement(
  'known-device-people',
  `SELECT u.id FROM known_devices d JOIN users u ON u.id = d.user_id AND ${presentIn('u')}
   WHERE d.device_hash = $2 AND lower(u.email) = lower($1)`,
);
const KNOWN = statement(
  'known-devices',
  `SELECT count(*)::int AS count, coalesce(bool_or(device_hash = ANY($2::bytea[])), false) AS is_known
   FROM known_devices WHERE user_id = $1`,
);
const SEE = statement(
  'known-devices-see',
  `INSERT INTO known_devices (user_id, device_hash, last_seen_at)
   SELECT $1, hash, $3 FROM unnest($2::bytea[]) AS hash
   ON CONFLICT (user_id, device_hash) DO UPDATE SET last_seen_at = excluded.last_seen_at`,
);
const FORGET = statement(
  'known-devices-forget',
  `DELETE FROM known_devices WHERE user_id = $1 AND device_hash NOT IN (
     SELECT device_hash FROM known_devices WHERE user_id = $1 ORDER BY last_seen_at DESC, device_hash LIMIT $2)`,
);

/** Stores the devices from which people have signed in. */
export class PgKnownDeviceStore implements KnownDeviceStore {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async peopleOf(email: string, deviceHash: Buffer): Promise<readonly string[]> {
    const people = await this.#sql.query<{ id: string }>(PEOPLE_OF, [email, deviceHash]);
    return people.map(({ id }) => id);
  }

  async see(userId: string, deviceHashes: readonly Buffer[], at: Date, most: number) {
    const [known] = await this.#sql.query<{ count: number; is_known: boolean }>(KNOWN, [
      userId,
      deviceHashes,
    ]);
    await this.#sql.execute(SEE, [userId, deviceHashes, at]);
    await this.#sql.execute(FORGET, [userId, most]);
    if (!known || known.count === 0) return 'first';
    return known.is_known ? 'known' : 'new';
  }
}
