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
const COUNTRIES = statement(
  'sign-in-countries',
  `SELECT count(*)::int AS count, coalesce(bool_or(country = $2 AND last_seen_at > $3), false) AS is_known
   FROM sign_in_countries WHERE user_id = $1`,
);
const SEE_COUNTRY = statement(
  'sign-in-countries-see',
  `INSERT INTO sign_in_countries (user_id, country, last_seen_at) VALUES ($1, $2, $3)
   ON CONFLICT (user_id, country) DO UPDATE SET last_seen_at = excluded.last_seen_at`,
);
const FORGET_COUNTRIES = statement(
  'sign-in-countries-forget',
  `DELETE FROM sign_in_countries WHERE user_id = $1 AND (last_seen_at <= $2 OR country NOT IN (
     SELECT country FROM sign_in_countries WHERE user_id = $1 ORDER BY last_seen_at DESC, country LIMIT $3))`,
);

/** Stores the devices and the countries from which people have signed in. */
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
  async seeCountry(userId: string, country: string, at: Date, since: Date, most: number) {
    const [known] = await this.#sql.query<{ count: number; is_known: boolean }>(COUNTRIES, [
      userId,
      country,
      since,
    ]);
    await this.#sql.execute(SEE_COUNTRY, [userId, country, at]);
    await this.#sql.execute(FORGET_COUNTRIES, [userId, since, most]);
    return verdictOf(known);
  }
}

function verdictOf(known: { count: number; is_known: boolean } | undefined) {
  if (!known || known.count === 0) return 'first';
  return known.is_known ? 'known' : 'new';
}
