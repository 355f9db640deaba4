import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';

describe('SMS history (R20, R102)', () => {
  let gateway: TestGateway;
  let account: TestAccount;
  /** The sent messages, oldest first. */
  const sent: { id: string; to: string[]; createdAt: string; sandbox: boolean }[] = [];
  beforeAll(async () => {
    gateway = await startTestGateway();
    account = await gateway.createAccount();
    const send = async (to: string, key = account.key) => {
      const { body } = await gateway.call('POST', '/developers/sms', {
        key,
        body: { to, message: `To ${to}` },
      });
      sent.push(body);
      // Wait for the next millisecond, so that filters by time can separate the messages.
      await eventually(() => Date.now() > Date.parse(body.createdAt));
    };
    for (let index = 0; index < 4; index++) {
      await send('0700123456');
      await send('0700000001,0700123457');
      await send('0700000001');
      await send('0700000004', account.sandboxKey);
      await send('+254712345678', account.sandboxKey);
    }
    await eventually(async () => (await page('status=pending')).pagination.total === 0);
  });
  afterAll(() => gateway.stop());

  const history = (query = '', key = account.key) =>
    gateway.call('GET', `/developers/sms/history?${query}`, { key });
  const page = async (query = '') => (await history(query)).body;
  const idsOf = (body: { data: { id: string }[] }) => body.data.map(({ id }) => id);
  const newestFirst = (fits: (message: (typeof sent)[number]) => boolean = () => true) =>
    sent
      .filter(fits)
      .map(({ id }) => id)
      .reverse();

  it('lists the newest first in the documented envelope, and names the environment (R59, R85, R589)', async () => {
    const { status, body } = await history('limit=3');
    expect(status).toBe(200);
    expect(body.pagination).toEqual({ page: 1, limit: 3, total: 20, pages: 7 });
    expect(idsOf(body)).toEqual(newestFirst().slice(0, 3));
    expect(body.data[0]).toEqual({
      id: sent.at(-1)?.id,
      status: 'sent',
      to: ['+254712345678'],
      content: 'To +254712345678',
      cost: 0,
      currency: 'UGX',
      createdAt: sent.at(-1)?.createdAt,
      environment: 'sandbox',
    });
  });

  it('has pages of 20 by default; a page after the last is empty (R6, R188)', async () => {
    expect((await page()).pagination).toEqual({ page: 1, limit: 20, total: 20, pages: 1 });
    const pages = [];
    for (let number = 1; number <= 4; number++) pages.push(await page(`page=${number}&limit=6`));
    expect(pages.flatMap(idsOf)).toEqual(newestFirst());
    for (const query of [
      'page=5&limit=6',
      'page=1000000000&limit=100',
      'page=2',
      'page=9&status=failed',
      'page=9&to=0700123456',
    ]) {
      const { status, body } = await history(query);
      expect({ status, data: body.data }).toEqual({ status: 200, data: [] });
    }
  });

  it.each([
    'page=0',
    'page=-1',
    'page=1.5',
    'page=',
    'limit=0',
    'limit=101',
    'limit=abc',
    'limit=10&limit=20',
    'page=%ff',
  ])('refuses %s (R6)', async (query) => {
    const { status, body } = await history(query);
    expect({ status, code: body.error?.code }).toEqual({ status: 400, code: 'validation_error' });
  });

  it.each([
    'status=',
    'status=SENT',
    'status=sent&status=failed',
    'to=',
    'to=abc',
    'to=0700123456,0700123457',
    'from=yesterday',
    'from=2026-02-30T00:00:00Z',
    'until=2026-11-21',
    'until=',
    'from=0000-01-01T00:00:00Z',
    'until=9999-12-31T23:59:59-00:01',
    'environment=test',
    'environment=',
  ])('refuses the filter %s', async (query) => {
    const { status, body } = await history(query);
    expect({ status, code: body.error?.code }).toEqual({ status: 400, code: 'validation_error' });
    expect(body.error.details.fields[0].path).toBe(query.split('=')[0]);
  });

  it('filters by status', async () => {
    const isFailed = ({ to, sandbox }: (typeof sent)[number]) => !sandbox && to.join() === '+256700000001';
    const { data, pagination } = await page('status=failed');
    expect(idsOf({ data })).toEqual(newestFirst(isFailed));
    expect(pagination.total).toBe(4);
    for (const entry of data) expect(entry.status).toBe('failed');
  });

  it.each(['0700000001', '%2B256700000001', '256700000001', '+256700000001', '0700-000-001'])(
    'filters by recipient in any form: to=%s',
    async (to) => {
      expect(idsOf(await page(`to=${to}`))).toEqual(
        newestFirst((message) => message.to.includes('+256700000001')),
      );
    },
  );

  it('accepts a foreign number whose plus sign was not escaped', async () => {
    expect((await page('to=+254712345678')).pagination.total).toBe(4);
    expect((await page('to=%2B254712345678')).pagination.total).toBe(4);
  });

  it('filters by environment', async () => {
    expect(idsOf(await page('environment=sandbox'))).toEqual(newestFirst(({ sandbox }) => sandbox));
    expect(idsOf(await page('environment=production'))).toEqual(newestFirst(({ sandbox }) => !sandbox));
    // A production key sees both, and each entry says which it is (R589).
    const environments = (await page()).data.map(({ environment }: { environment: string }) => environment);
    expect(environments).toEqual(sent.map(({ sandbox }) => (sandbox ? 'sandbox' : 'production')).reverse());
  });

  it.each(['sms', 'email', 'push', 'whatsapp'])(
    'accepts the first and the last possible time: %s',
    async (channel) => {
      const [first, last] = ['0001-01-01T00:00:00Z', '9999-12-31T23:59:59.999Z'];
      const count = async (query: string) => {
        const { status, body } = await gateway.call('GET', `/developers/${channel}/history?${query}`, {
          key: account.key,
        });
        return [status, body.pagination?.total];
      };
      const { body: all } = await gateway.call('GET', `/developers/${channel}/history`, { key: account.key });
      expect(await count(`from=${first}&until=${last}`)).toEqual([200, all.pagination.total]);
      expect(await count(`from=${last}`)).toEqual([200, 0]);
      expect(await count(`until=${first}`)).toEqual([200, 0]);
    },
  );

  it('refuses an invalid email address', async () => {
    const { status, body } = await gateway.call('GET', '/developers/email/history?to=nobody', {
      key: account.key,
    });
    expect([status, body.error.message]).toEqual([400, 'to: must be one email address']);
  });

  it('filters by time, both ends included, with any offset', async () => {
    const at = (index: number) => sent[index]?.createdAt ?? '';
    const local = new Date(Date.parse(at(5)) + 3 * 3_600_000).toISOString().replace('Z', '%2B03:00');
    const cases: [string, number, number][] = [
      [`from=${at(5)}`, 5, 20],
      [`from=${local}`, 5, 20],
      [`from=${local.replace('%2B', '+')}`, 5, 20],
      [`until=${at(5)}`, 0, 6],
      [`from=${at(3)}&until=${at(9)}`, 3, 10],
      [`from=${at(7)}&until=${at(7)}`, 7, 8],
      ['from=2020-01-01T00:00:00Z', 0, 20],
      ['until=2020-01-01T00:00:00Z', 0, 0],
      ['from=2100-01-01T00:00Z', 0, 0],
      [`from=${at(9)}&until=${at(3)}`, 0, 0],
    ];
    for (const [query, start, end] of cases) {
      const { data, pagination } = await page(query);
      expect({ query, ids: idsOf({ data }) }).toEqual({
        query,
        ids: newestFirst().reverse().slice(start, end).reverse(),
      });
      expect(pagination.total).toBe(end - start);
    }
    const second = await page(`from=${at(3)}&until=${at(9)}&page=2&limit=4`);
    expect(idsOf(second)).toEqual(newestFirst().reverse().slice(3, 6).reverse());
  });

  it('combines filters', async () => {
    const from = sent[10]?.createdAt ?? '';
    const query = `environment=production&status=failed&to=0700000001&from=${from}`;
    expect(idsOf(await page(query))).toEqual([sent[17]?.id, sent[12]?.id]);
    expect(idsOf(await page(`${query}&page=2&limit=1`))).toEqual([sent[12]?.id]);
  });

  it('shows only the account of the key', async () => {
    const stranger = await gateway.createAccount();
    for (const query of ['', 'to=0700123456', 'status=failed', 'from=2020-01-01T00:00:00Z']) {
      const { body } = await history(query, stranger.key);
      expect(body).toMatchObject({ data: [], pagination: { total: 0, pages: 0 } });
    }
  });

  it('needs READ_MESSAGES or FULL_ACCESS (R124, R174)', async () => {
    const reader = await gateway.createKey(account.accountId, { scopes: ['READ_MESSAGES'] });
    expect((await history('', reader.key)).status).toBe(200);
    const sender = await gateway.createKey(account.accountId, { scopes: ['SEND_SMS'] });
    expect((await history('', sender.key)).body.message).toBe(
      'Insufficient scopes. Required one of: READ_MESSAGES, FULL_ACCESS',
    );
  });
});
