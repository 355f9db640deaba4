/**
 * Tests the pumping watch on the month of ordinary traffic that fills the account of the README's pictures: no false
 * alarm, and an attack after it is held. The watch and its store are the real ones. Nothing is sent, so each number
 * stays new, which makes false alarms likelier than in a real month.
 */
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { PumpingWatch } from '../../src/domain/limits/pumping-watch.ts';
import { ordinarySends, sendsOfDay } from '../console/shown-account.ts';
import { createTestDatabase, silentLogger, type TestDatabase } from '../support/database.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { preparedMessage } from '../support/prepared-message.ts';
import { prepareClocks, type SetBackClocks, setBackClocks } from '../support/set-back-clocks.ts';
import { withUnitOfWork } from '../support/unit-of-work.ts';

jest.setTimeout(300_000);

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

describe('after a month of ordinary traffic, the pumping watch', () => {
  let database: TestDatabase;
  let gateway: TestGateway;
  let clocks: SetBackClocks;
  let account: TestAccount;
  beforeAll(async () => {
    database = await createTestDatabase();
    await prepareClocks(database.connection);
    gateway = await startTestGateway({}, database);
    clocks = await setBackClocks(database.connection, [gateway.parts.clock]);
    account = await gateway.createAccount();
  });
  afterAll(async () => {
    await clocks?.[Symbol.asyncDispose]();
    await gateway?.stop();
    await database?.drop();
  });

  /** Calls `work` with a function that shows a message to the watches of two processes in turn. */
  const watching = (work: (isHeld: (to: readonly string[]) => Promise<boolean>) => Promise<void>) =>
    withUnitOfWork(gateway, async (uow, stores) => {
      const deps = { uow, stores, clock: gateway.parts.clock, logger: silentLogger };
      const watches = [new PumpingWatch(deps), new PumpingWatch(deps)];
      let turn = 0;
      await work(async (to) => {
        turn += 1;
        const recipients = to.map((address) => ({ address, costMinor: 30, routeKey: '*', heldUntil: null }));
        const seen = await watches[turn % 2]?.watch(preparedMessage(account.accountId, { recipients }));
        return seen?.block !== undefined;
      });
    });
  /** Shows messages to numbers in a row. Returns how many numbers were not held. */
  async function attack(
    isHeld: (to: readonly string[]) => Promise<boolean>,
    block: string,
    { from = 0, count = 500, size = 1 } = {},
  ): Promise<number> {
    let left = 0;
    for (let at = from; at < from + count; at += size) {
      const to = Array.from({ length: size }, (_, index) => `${block}${String(at + index).padStart(3, '0')}`);
      if (!(await isHeld(to))) left += size;
    }
    return left;
  }

  it('has held nothing, and holds an attack on 500 numbers within 20, however it comes (R392)', async () => {
    await watching(async (isHeld) => {
      let sent = 0;
      const held: string[] = [];
      for (let day = 29; day >= 0; day -= 1) {
        await clocks.setBack(day * DAY_MS);
        for (const { key, path, body } of ordinarySends(sendsOfDay(day))) {
          if (path !== '/developers/sms' || key === 'tests') continue;
          sent += 1;
          if (await isHeld([body.to])) held.push(body.to);
        }
      }
      expect(sent).toBeGreaterThan(10_000);
      expect(held).toEqual([]);

      // At the end of the busiest hour of the month.
      expect(await attack(isHeld, '+256771500')).toBeLessThanOrEqual(20);
      // In messages of several numbers.
      expect(await attack(isHeld, '+256772500', { size: 4 })).toBeLessThanOrEqual(20);
      // With pauses of up to an hour.
      let left = 0;
      for (const [round, minutes] of [0, 19, 38, 57].entries()) {
        await clocks.setBack(-minutes * MINUTE_MS);
        left += await attack(isHeld, '+256773500', { from: 100 * round, count: 15 });
      }
      expect(left).toBeLessThanOrEqual(20);
      // After the hour the numbers are counted anew.
      await clocks.setBack(-118 * MINUTE_MS);
      expect(await attack(isHeld, '+256773500', { from: 500, count: 12 })).toBe(12);
    });
  });
});
