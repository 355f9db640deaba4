import { describe, expect, it } from '@jest/globals';
import type { AuditEntry } from '../../src/domain/audit/audit-entry.ts';
import { type AuditedEvent, SecurityWatch } from '../../src/domain/security/security-watch.ts';
import { silentLogger } from '../support/database.ts';

const MINUTE_MS = 60_000;

function watched() {
  const lines: Record<string, unknown>[] = [];
  const entries: AuditEntry[] = [];
  const state = { nowMs: Date.parse('2026-11-24T12:00:00Z'), isAway: false };
  const tx = {
    audit: { append: async (entry: AuditEntry) => void entries.push(entry) },
    announceLive: () => undefined,
  };
  const deps = {
    uow: {
      run: async (work: (given: typeof tx) => Promise<unknown>) => {
        if (state.isAway) throw new Error('the database is away');
        return work(tx);
      },
    },
    clock: { now: () => new Date(state.nowMs) },
    ids: { uuid: () => 'id' },
  } as unknown as ConstructorParameters<typeof SecurityWatch>[0];
  const warn = (fields: object, message: string) => void lines.push({ ...fields, message });
  return { watch: new SecurityWatch(deps, { ...silentLogger, warn }), lines, entries, state };
}

const event = (target: string): AuditedEvent => ({
  accountId: 'a',
  caller: { kind: 'system', name: 'sign-in' },
  action: 'member.signInFailed',
  target,
});

describe('security events (R213)', () => {
  it('are all counted; ten of a kind are logged a minute, and then the number of the rest', async () => {
    const { watch, lines, state } = watched();
    const guess = (kind: 'api_key' | 'password') =>
      watch.recordRefusal({ kind, reason: 'unknown', address: '192.0.2.1' });
    for (let n = 0; n < 1_000; n++) guess('api_key');
    guess('password');
    expect([watch.counts.get('api_key'), watch.counts.get('password'), watch.counts.get('session')]).toEqual([
      1_000, 1, 0,
    ]);
    expect(lines).toHaveLength(11);
    expect(lines[0]).toEqual({
      security: 'api_key',
      reason: 'unknown',
      address: '192.0.2.1',
      message: 'refused',
    });
    state.nowMs += MINUTE_MS;
    await watch.flush();
    expect(lines.slice(11)).toEqual([
      { security: 'api_key', suppressed: 990, message: 'refused more often than is logged' },
    ]);
    for (let n = 0; n < 12; n++) guess('api_key');
    state.nowMs += MINUTE_MS;
    guess('api_key');
    expect(lines.slice(12).map(({ suppressed }) => suppressed)).toEqual([
      ...Array(10).fill(undefined),
      2,
      undefined,
    ]);
  });

  it('are audited once, also if two flushes meet', async () => {
    const { watch, entries } = watched();
    watch.recordAudited(event('u'), '192.0.2.1');
    await Promise.all([watch.flush(), watch.flush({ isLast: true })]);
    expect(entries).toHaveLength(1);
  });

  it('are audited once for each address, and with their number after 15 minutes', async () => {
    const { watch, entries, state } = watched();
    const audited = (count: number, address = '192.0.2.1') => {
      for (let n = 0; n < count; n++) watch.recordAudited(event('u'), address);
    };
    audited(1);
    await watch.flush();
    audited(500);
    await watch.flush();
    audited(1, '192.0.2.2');
    await watch.flush();
    expect(entries.map(({ after }) => [after?.address, after?.count])).toEqual([
      ['192.0.2.1', 1],
      ['192.0.2.2', 1],
    ]);
    state.nowMs += 15 * MINUTE_MS;
    await watch.flush();
    expect(entries.slice(2)).toEqual([
      {
        id: 'id',
        accountId: 'a',
        at: new Date(state.nowMs),
        actor: 'system:sign-in',
        action: 'member.signInFailed',
        target: 'u',
        before: null,
        after: {
          address: '192.0.2.1',
          count: 501,
          from: '2026-11-24T12:00:00.000Z',
          until: '2026-11-24T12:00:00.000Z',
        },
      },
    ]);
    await watch.flush({ isLast: true });
    expect(entries).toHaveLength(3);
    audited(1);
    await watch.flush();
    expect(entries).toHaveLength(4);
  });

  it('from ever new addresses are audited for 20 addresses, and the rest together', async () => {
    const { watch, entries } = watched();
    for (let n = 0; n < 2_000; n++) watch.recordAudited(event('u'), `192.0.2.${n}`);
    await watch.flush();
    expect(entries).toHaveLength(21);
    expect(entries.at(-1)?.after).toMatchObject({ address: 'others', count: 1_980 });
    for (let n = 0; n < 10_000; n++) watch.recordAudited(event(`u${n}`), '192.0.2.1');
    await watch.flush({ isLast: true });
    expect(entries.length).toBeLessThanOrEqual(5_000);
  });

  it('wait while the database is unavailable', async () => {
    const { watch, entries, state } = watched();
    watch.recordAudited(event('u'), '192.0.2.1');
    state.isAway = true;
    await expect(watch.flush()).rejects.toThrow('away');
    watch.recordAudited(event('u'), '192.0.2.1');
    state.isAway = false;
    await watch.flush();
    await watch.flush();
    expect(entries.map(({ after }) => after?.count)).toEqual([2]);
  });
});
