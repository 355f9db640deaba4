import { createHash } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { LocalCounts } from '../../src/domain/accounts/local-counts.ts';
import { Sessions } from '../../src/domain/accounts/sessions.ts';
import type { CreateCache } from '../../src/domain/ports/changes.ts';
import { ChangeCache } from '../../src/runtime/change-cache.ts';
import { PgPrimaryWatch } from '../../src/storage/postgres/primary-watch.ts';

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

describe('a session without a primary (R520)', () => {
  const AWAY = { code: 'service_unavailable', message: expect.stringContaining('nobody can be recognised') };

  /** A process that has read a session, and then lost the primary. */
  async function afterLoss(isGone = false) {
    const row = { isGone: false };
    let nowMs = NOW;
    let announce: (id: string | undefined) => void = () => undefined;
    const primary = new PgPrimaryWatch();
    const changes = {
      isListening: true,
      subscribe: (_kind: string, onChange: typeof announce) => {
        announce = onChange;
      },
    };
    const found = {
      user: { id: 'u', accountId: 'a', role: 'OWNER' },
      expiresAt: new Date(NOW + HOUR_MS),
      endsAt: new Date(NOW + HOUR_MS),
    };
    const sessions = new Sessions({
      stores: {
        sessions: { findMany: async () => (row.isGone ? [] : [{ ...found, ...ROW }]) },
        accessTokens: {
          findLiving: async () => [
            {
              ...found,
              ...ROW,
              token: { expiresAt: found.expiresAt, permissions: [], lastUsedAt: new Date(NOW) },
            },
          ],
        },
      },
      clock: { now: () => new Date(nowMs) },
      createCache: ((kind, load) => new ChangeCache(kind, changes, load)) as CreateCache,
      settings: SETTINGS,
      primary,
    } as unknown as ConstructorParameters<typeof Sessions>[0]);
    const pass = (ms: number) => {
      nowMs += ms;
    };
    const first = await sessions.find('token');
    await sessions.find('gat_token');
    expect(first).toMatchObject({ caller: { role: 'OWNER' } });
    expect(first?.isRemembered).toBeUndefined();
    expect(first?.caller).not.toHaveProperty('needsStepUp');
    if (isGone) {
      row.isGone = true;
      pass(20_000);
      expect(await sessions.find('token')).toBeUndefined();
    }
    primary.lost();
    return { sessions, primary, pass, announce, hash: first!.tokenHash.toString('hex') };
  }

  it('is accepted for 60 s after it was read, and needs a step-up', async () => {
    const { sessions, primary, pass } = await afterLoss();
    pass(59_999);
    expect(await sessions.find('token')).toMatchObject({ isRemembered: true, caller: { needsStepUp: true } });
    pass(1);
    await expect(sessions.find('token')).rejects.toMatchObject(AWAY);
    primary.answered();
    expect((await sessions.find('token'))?.isRemembered).toBeUndefined();
  });

  it('is refused if it was not read, was announced as changed, or is an access token', async () => {
    const { sessions, announce, hash } = await afterLoss();
    await expect(sessions.find('other')).rejects.toMatchObject(AWAY);
    await expect(sessions.find('gat_token')).rejects.toMatchObject(AWAY);
    announce(hash);
    await expect(sessions.find('token')).rejects.toMatchObject(AWAY);
  });

  it('is refused if the process has seen its end, although that was not announced', async () => {
    const { sessions } = await afterLoss(true);
    await expect(sessions.find('token')).rejects.toMatchObject(AWAY);
  });

  it('does not wait for an answer of the primary that will not come', async () => {
    const primary = new PgPrimaryWatch();
    const waiting = primary.unlessAway(() => new Promise(() => undefined));
    primary.lost();
    expect(await waiting).toBeUndefined();
    expect(await primary.unlessAway(() => Promise.reject(new Error('not called')))).toBeUndefined();
    primary.answered(7);
    expect(await primary.unlessAway(async () => 'found')).toEqual({ result: 'found' });
    expect(primary.position).toBe(7);
  });

  it('has a budget in each process', () => {
    const counts = new LocalCounts();
    const take = (units: number, atMs = 0) => counts.take('session:a', 10, units, new Date(NOW + atMs));
    expect(take(6)).toMatchObject({ isAllowed: true, remaining: 4 });
    expect(take(5, 30_000)).toMatchObject({ isAllowed: false, remaining: 4, retryAfterSeconds: 30 });
    expect(take(4, 59_999)).toMatchObject({ isAllowed: true, remaining: 0 });
    expect(take(10, 60_000)).toMatchObject({ isAllowed: true, resetAt: new Date(NOW + 120_000) });
    expect(counts.take('session:b', 10, 10, new Date(NOW))).toMatchObject({ isAllowed: true });
  });
});
