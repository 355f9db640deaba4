import { describe, expect, it } from '@jest/globals';
import { DeliveryReports } from '../../src/domain/messages/delivery-reports.ts';
import type { UnitOfWork } from '../../src/domain/ports/stores.ts';

describe('delivery reports that cannot be recorded', () => {
  const takeTen = async (mayPassAlone: boolean) => {
    let transactions = 0;
    const uow: UnitOfWork = {
      run: async () => {
        transactions += 1;
        throw new Error('no');
      },
    };
    const ids = { uuid: () => '', random: (bytes: number) => Buffer.alloc(bytes) };
    const reports = new DeliveryReports(uow, { now: () => new Date() }, ids, () => mayPassAlone);
    const ten = Array.from({ length: 10 }, (_, n) => ({ sid: String(n), status: 'delivered' as const }));
    await expect(reports.take('carrier', ten)).rejects.toThrow('no');
    await reports.drain();
    return transactions;
  };

  it('are tried one by one where one of them may be to blame', async () => {
    expect(await takeTen(true)).toBe(11);
  });

  it('fail together while the database is away: each would wait for it anew, and the carrier repeats them', async () => {
    expect(await takeTen(false)).toBe(1);
  });
});
