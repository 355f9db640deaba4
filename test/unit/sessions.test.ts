import { createHash } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { Sessions } from '../../src/domain/accounts/sessions.ts';
import type { CreateCache } from '../../src/domain/ports/changes.ts';
import { ChangeCache } from '../../src/runtime/change-cache.ts';

const NOW = Date.parse('2026-11-23T12:00:00Z');
/** A cache to which announcements never arrive. */
const createHeardCache: CreateCache = (kind, load) =>
  new ChangeCache(kind, { isListening: true, subscribe: () => undefined }, load);
const HOUR_MS = 3_600_000;
const ROW = {
  verifiedAt: new Date(NOW),
  lastSeenAt: new Date(NOW),
  hasFactor: false,
  accountRequiresFactor: false,
  hasIdentity: false,
  identityId: null,
};
const SETTINGS = { secondFactorPolicy: 'none', restrictsOneTimePasswords: false };

describe('the session cache of a process', () => {
  it('drops a session at its end, also when the end could not be extended', async () => {
    let nowMs = NOW;
    let mayExtend = false;
    const expiresAt = new Date(NOW + 10_000);
    const endsAt = new Date(NOW + 7 * 24 * HOUR_MS);
    const findMany = async () => [
      { user: { id: 'u', accountId: 'a', role: 'VIEWER' }, expiresAt, endsAt, ...ROW },
    ];
    const extend = async () => {
      if (!mayExtend) throw new Error('the database is away');
    };
    const sessions = new Sessions({
      stores: { sessions: { findMany, extend } },
      clock: { now: () => new Date(nowMs) },
      createCache: createHeardCache,
      settings: SETTINGS,
    } as unknown as ConstructorParameters<typeof Sessions>[0]);
    await expect(sessions.find('token')).rejects.toThrow('away');
    mayExtend = true;
    nowMs += 10_000;
    expect(await sessions.find('token')).toBeUndefined();
  });

  /** Uses a session, and again `passMs` later, without announcements. */
  const usedAfter = async (passMs: number, change: (row: { role: string; isGone: boolean }) => void) => {
    const row = { role: 'VIEWER', isGone: false, expiresAt: new Date(NOW + 12 * HOUR_MS) };
    let nowMs = NOW;
    const endsAt = new Date(NOW + 7 * 24 * HOUR_MS);
    const findMany = async (_hashes: readonly Buffer[], now: Date) =>
      row.isGone || row.expiresAt <= now
        ? []
        : [{ user: { id: 'u', accountId: 'a', role: row.role }, expiresAt: row.expiresAt, endsAt, ...ROW }];
    const extend = async (_hash: Buffer, expiresAt: Date) => {
      row.expiresAt = expiresAt;
    };
    const deps = {
      stores: { sessions: { findMany, extend } },
      clock: { now: () => new Date(nowMs) },
      createCache: createHeardCache,
      settings: SETTINGS,
    };
    const sessions = new Sessions(deps as unknown as ConstructorParameters<typeof Sessions>[0]);
    const first = await sessions.find('token');
    expect(first?.tokenHash).toEqual(createHash('sha256').update('token').digest());
    change(row);
    nowMs += passMs;
    return { session: await sessions.find('token'), end: row.expiresAt.getTime() };
  };

  it('reads a session again after a minute, even without an announced change', async () => {
    const raise = (row: { role: string }) => {
      row.role = 'ADMIN';
    };
    expect((await usedAfter(59_000, raise)).session?.caller).toMatchObject({ role: 'VIEWER' });
    expect((await usedAfter(60_000, raise)).session?.caller).toMatchObject({ role: 'ADMIN' });
    const end = (row: { isGone: boolean }) => {
      row.isGone = true;
    };
    expect((await usedAfter(60_000, end)).session).toBeUndefined();
  });

  it('extends a session once a minute, to 12 hours after its last use', async () => {
    const nothing = () => undefined;
    expect(await usedAfter(59_000, nothing)).toMatchObject({
      session: { isExtended: false },
      end: NOW + 12 * HOUR_MS,
    });
    expect(await usedAfter(60_000, nothing)).toMatchObject({
      session: { isExtended: true },
      end: NOW + 60_000 + 12 * HOUR_MS,
    });
    expect((await usedAfter(12 * HOUR_MS - 1, nothing)).session).toBeDefined();
    expect((await usedAfter(12 * HOUR_MS, nothing)).session).toBeUndefined();
  });
});
