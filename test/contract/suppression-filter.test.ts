import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { countStatements } from '../support/statements.ts';

const LOOK_UP = 'unnest($1::int[], $2::uuid[], $3::text[], $4::text[], $5::text[])\n       AS a (ask,';
const numberAt = (at: number) => `+2567001${String(at).padStart(5, '0')}`;

describe('the filter of suppressions', () => {
  let gateway: TestGateway;
  let other: TestGateway;
  let account: TestAccount;
  beforeAll(async () => {
    gateway = await startTestGateway({ PUMPING_WATCH: 'off' });
    other = await startTestGateway({ ROLES: 'api', PUMPING_WATCH: 'off' }, gateway.database);
    account = await gateway.createAccount();
    expect((await suppress(numberAt(0))).status).toBe(201);
  });
  afterAll(async () => {
    await other?.stop();
    await gateway?.stop();
  });

  const suppress = (address: string, more: object = {}, at = gateway) =>
    at.call('POST', '/developers/suppressions', {
      key: account.key,
      body: { channel: 'sms', address, scope: 'all', ...more },
    });
  const send = (to: string, at = gateway) =>
    at.call('POST', '/developers/sms', { key: account.key, body: { to, message: 'Hello' } });

  /** Sends to numbers without suppressions. Returns how many look-ups this took. */
  async function lookUps(at: TestGateway, from: number, count: number): Promise<number> {
    using statements = countStatements();
    for (let index = 0; index < count; index += 1)
      expect((await send(numberAt(from + index), at)).status).toBe(200);
    return statements.texts().filter((text) => text.includes(LOOK_UP)).length;
  }

  const loaded = async (at: TestGateway, from: number) => {
    await lookUps(at, from, 25);
    let next = from + 100;
    await eventually(async () => (await lookUps(at, next++, 1)) === 0);
  };
  const isRefused = (address: string, at: TestGateway) => async () =>
    (await send(address, at)).body.error?.code === 'all_recipients_suppressed';

  it('spares the look-up for nearly all addresses, and finds each suppressed one (R378)', async () => {
    for (const [at, from] of [
      [gateway, 1_000],
      [other, 2_000],
    ] as const) {
      await loaded(at, from);
      expect(await lookUps(at, from + 500, 100)).toBeLessThan(10);
      expect(await isRefused(numberAt(0), at)()).toBe(true);
    }
  });

  it('knows what is suppressed from now on, in every process, without being loaded anew (R379)', async () => {
    const [first, second] = [numberAt(1), numberAt(2)];
    expect((await suppress(first)).status).toBe(201);
    expect(await isRefused(first, gateway)()).toBe(true);
    await eventually(isRefused(first, other));
    expect((await suppress(second, {}, other)).status).toBe(201);
    expect(await isRefused(second, other)()).toBe(true);
    await eventually(isRefused(second, gateway));
    expect(await lookUps(gateway, 3_000, 10)).toBeLessThan(5);
    expect(await lookUps(other, 3_100, 10)).toBeLessThan(5);
  });

  it('is forgotten after an import, so that every address of the file is found (R383)', async () => {
    const addresses = Array.from({ length: 50 }, (_, at) => numberAt(10 + at));
    const csv = ['channel,address,scope', ...addresses.map((each) => `sms,${each},all`)].join('\n');
    const imported = await gateway.call('POST', '/developers/suppressions/import', {
      key: account.key,
      body: { csv },
    });
    expect(imported.status).toBe(200);
    for (const each of addresses) expect([each, await isRefused(each, gateway)()]).toEqual([each, true]);
    await eventually(isRefused(addresses[49] as string, other));
    for (const each of addresses) expect([each, await isRefused(each, other)()]).toEqual([each, true]);
    await loaded(gateway, 4_000);
    expect(await isRefused(addresses[7] as string, gateway)()).toBe(true);
  });

  it('lets a message pass again after a suppression was removed (R377)', async () => {
    const listed = await gateway.call(
      'GET',
      `/developers/suppressions?address=${encodeURIComponent(numberAt(1))}`,
      {
        key: account.key,
      },
    );
    const [{ id }] = listed.body.data;
    expect(
      (await gateway.call('DELETE', `/developers/suppressions/${id}`, { key: account.key })).status,
    ).toBe(200);
    expect((await send(numberAt(1))).status).toBe(200);
  });

  it('keeps sandbox and production, and channels, apart (R377)', async () => {
    const address = numberAt(5);
    expect((await suppress(address, { channel: 'whatsapp' })).status).toBe(201);
    expect((await send(address)).status).toBe(200);
    const sandboxed = await gateway.call('POST', '/developers/sms', {
      key: account.sandboxKey,
      body: { to: numberAt(0), message: 'Hello' },
    });
    expect(sandboxed.status).toBe(200);
  });
});
