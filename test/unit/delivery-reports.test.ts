import { describe, expect, it } from '@jest/globals';
import type { KeptPlace } from '../../src/domain/ports/report-stores.ts';
import type { Tx, UnitOfWork } from '../../src/domain/ports/stores.ts';
import { DeliveryReports } from '../../src/workers/reports/delivery-reports.ts';
import { silentLogger } from '../support/database.ts';

const ids = { uuid: () => '', random: (bytes: number) => Buffer.alloc(bytes) };
const unused = async () => {
  throw new Error('not used');
};
const options = {
  mayPassAlone: () => false,
  isFault: () => false,
  spool: {
    isEmpty: true,
    bytes: 0,
    append: unused,
    oldest: () => undefined,
    read: unused,
    remove: unused,
    adopt: unused,
    close: unused,
  },
  progress: { spoolAppliedTo: unused, noteSpoolApplied: unused, forgetSpool: unused },
  logger: silentLogger,
};

describe('delivery reports that cannot be stored', () => {
  const takeTen = async (mayPassAlone: boolean) => {
    let transactions = 0;
    const uow: UnitOfWork = {
      run: async () => {
        transactions += 1;
        throw new Error('no');
      },
    };
    const reports = new DeliveryReports(uow, { now: () => new Date() }, ids, {
      ...options,
      mayPassAlone: () => mayPassAlone,
    });
    const ten = Array.from({ length: 10 }, (_, n) => ({ sid: String(n), status: 'delivered' as const }));
    await expect(reports.take('carrier', ten)).rejects.toThrow('no');
    await reports.drain();
    return transactions;
  };

  it('are stored one by one when one of them may be the cause', async () => {
    expect(await takeTen(true)).toBe(11);
  });

  it('fail together while the database is down and the spool is full, because each would wait for it again', async () => {
    expect(await takeTen(false)).toBe(1);
  });
});

describe('delivery reports that wait for their message', () => {
  it('are searched over a whole day when a process starts, and then only over the recent minutes', async () => {
    const now = new Date('2026-11-23T12:00:00Z');
    const since: string[] = [];
    const isAway = [true, false, false];
    const lockMatchable = async ({ place }: KeptPlace) => {
      since.push(place);
      return [];
    };
    const nothing = async () => undefined;
    const tx = { reports: { lockMatchable, keepUnmatched: nothing, forget: nothing } } as unknown as Tx;
    const uow: UnitOfWork = {
      run: async (work) => {
        const result = await work(tx);
        if (isAway.shift()) throw new Error('the database is away');
        return result;
      },
    };
    const reports = new DeliveryReports(uow, { now: () => now }, ids, options);
    await expect(reports.matchKept()).rejects.toThrow('away');
    await reports.matchKept();
    await reports.matchKept();
    expect(since).toEqual([
      '2026-11-22T12:00:00.000Z',
      '2026-11-22T12:00:00.000Z',
      '2026-11-23T11:50:00.000Z',
    ]);
  });
});
