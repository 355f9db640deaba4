import type { AccountEnvironment, Environment, Visibility } from '../../domain/caller.ts';
import type { Device, Platform } from '../../domain/devices/device.ts';
import type { KeyRange, Page, PageRequest } from '../../domain/paging.ts';
import type { DeviceStore } from '../../domain/ports/device-store.ts';
import { type Sql, statement } from '../postgres/sql.ts';
import { ownRowsIn, whereVisible } from './account-rows.ts';

interface DeviceRow {
  id: string;
  account_id: string;
  environment: Environment;
  created_at: Date;
  updated_at: Date;
  platform: Platform;
  user_id: string;
  token: string;
  p256dh: string | null;
  auth: string | null;
}

const COLUMNS = [
  'id',
  'account_id',
  'environment',
  'created_at',
  'updated_at',
  'platform',
  'user_id',
  'token',
  'p256dh',
  'auth',
] as const;

function mapRow(row: DeviceRow): Device {
  return {
    id: row.id,
    accountId: row.account_id,
    environment: row.environment,
    platform: row.platform,
    token: row.token,
    keys: row.p256dh !== null && row.auth !== null ? { p256dh: row.p256dh, auth: row.auth } : null,
    userId: row.user_id,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}

const UPSERT = statement(
  'device-upsert',
  `INSERT INTO devices (${COLUMNS.join(', ')}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
   ON CONFLICT (account_id, environment, token) DO UPDATE SET updated_at = excluded.updated_at, platform = excluded.platform,
     user_id = excluded.user_id, p256dh = excluded.p256dh, auth = excluded.auth
   RETURNING ${COLUMNS.join(', ')}`,
);
const TARGETS = statement(
  'device-targets',
  `SELECT ${COLUMNS.join(', ')} FROM devices
   WHERE account_id = $1 AND environment = $5 AND (user_id = ANY($2::text[]) OR id = ANY($3::uuid[])) ORDER BY id LIMIT $4`,
);
const FIND_MANY = statement(
  'device-find-many',
  `SELECT ${COLUMNS.join(', ')} FROM devices WHERE id = ANY($1::uuid[])`,
);
// Locks devices in the order of their ids, so that two transactions that delete the same devices do not deadlock.
const REMOVE = statement(
  'device-remove',
  `DELETE FROM devices WHERE id IN (
     SELECT id FROM devices WHERE account_id = $1 AND id = ANY($2::uuid[]) AND ($3::text IS NULL OR environment = $3) ORDER BY id FOR UPDATE)
   RETURNING id`,
);

/** Stores the devices for push messages (R24). */
export class PgDeviceStore implements DeviceStore {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async upsert(device: Device): Promise<Device> {
    const [row] = await this.#sql.query<DeviceRow>(UPSERT, [
      device.id,
      device.accountId,
      device.environment,
      device.createdAt,
      device.updatedAt,
      device.platform,
      device.userId,
      device.token,
      device.keys?.p256dh ?? null,
      device.keys?.auth ?? null,
    ]);
    if (!row) throw new Error('an upserted device has no row');
    return mapRow(row);
  }

  async find(visibility: Visibility, id: string): Promise<Device | undefined> {
    const row: DeviceRow | undefined = await this.#sql
      .table('devices')
      .where({ ...whereVisible(visibility), id })
      .first(...COLUMNS);
    return row && mapRow(row);
  }

  async findVisible(visibility: Visibility, ids: readonly string[]): Promise<readonly Device[]> {
    const rows: DeviceRow[] = await this.#sql
      .table<DeviceRow>('devices')
      .where(whereVisible(visibility))
      .whereIn('id', [...ids])
      .select(...COLUMNS);
    return rows.map(mapRow);
  }

  async page(owner: AccountEnvironment, { page, limit }: PageRequest): Promise<Page<Device>> {
    const own = this.#sql.table<DeviceRow>('devices').where(whereVisible(owner));
    const total = await this.count(owner);
    const rows: DeviceRow[] = await own
      .clone()
      .select(...COLUMNS)
      .orderBy('id', 'desc')
      .limit(limit)
      .offset((page - 1) * limit);
    return { rows: rows.map(mapRow), total };
  }

  async slice(owner: AccountEnvironment, { limit, after }: KeyRange): Promise<readonly Device[]> {
    const own = this.#sql
      .table<DeviceRow>('devices')
      .where(whereVisible(owner))
      .orderBy('id', 'desc')
      .limit(limit);
    if (after !== undefined) own.where('id', '<', after);
    const rows: DeviceRow[] = await own.select(...COLUMNS);
    return rows.map(mapRow);
  }

  count(owner: AccountEnvironment): Promise<number> {
    return ownRowsIn(this.#sql, owner, 'devices');
  }

  async targets(
    { accountId, environment }: AccountEnvironment,
    userIds: readonly string[],
    deviceIds: readonly string[],
    limit: number,
  ): Promise<readonly Device[]> {
    const rows = await this.#sql.query<DeviceRow>(TARGETS, [
      accountId,
      userIds,
      deviceIds,
      limit,
      environment,
    ]);
    return rows.map(mapRow);
  }

  async findMany(ids: readonly string[]): Promise<readonly Device[]> {
    const rows = await this.#sql.query<DeviceRow>(FIND_MANY, [ids]);
    return rows.map(mapRow);
  }

  async remove({ accountId, environment }: Visibility, ids: readonly string[]): Promise<number> {
    if (ids.length === 0) return 0;
    return (await this.#sql.query(REMOVE, [accountId, ids, environment ?? null])).length;
  }
}
