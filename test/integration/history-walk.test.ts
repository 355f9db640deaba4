import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';

interface Entry {
  readonly id: string;
  readonly createdAt: string;
}

describe('reading a history page by page while messages are added (R20, R188)', () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway();
  });
  afterAll(() => gateway.stop());

  /** Sends `count` messages at once. They are sandbox messages, which cost nothing and cause no webhook. */
  const add = async (key: string, count: number): Promise<string[]> => {
    const body = { to: '0700123456', message: 'Hello' };
    const sent = await Promise.all(
      Array.from({ length: count }, () => gateway.call('POST', '/developers/sms', { key, body })),
    );
    return sent.map(({ body }) => body.id);
  };
  /** Reads all pages. Before each page except the first, it sends as many messages as `added` says. */
  const walk = async (key: string, query: string, limit: number, added: readonly number[]) => {
    const pages: Entry[][] = [];
    const late: string[] = [];
    for (let page = 1; ; page++) {
      if (page > 1) late.push(...(await add(key, added[page - 2] ?? 0)));
      const { body } = await gateway.call(
        'GET',
        `/developers/sms/history?limit=${limit}&page=${page}&${query}`,
        { key },
      );
      pages.push(body.data);
      if (page >= body.pagination.pages) return { pages, late };
    }
  };
  const all = async (key: string): Promise<Entry[]> => (await walk(key, '', 100, [])).pages.flat();

  const course = fc.record({
    first: fc.nat(25),
    limit: fc.integer({ min: 1, max: 7 }),
    added: fc.array(fc.nat(6), { maxLength: 8 }),
  });

  it('misses no earlier message, keeps the order on each page, and repeats only what new messages pushed back', async () => {
    await fc.assert(
      fc.asyncProperty(course, async ({ first, limit, added }) => {
        const { sandboxKey: key } = await gateway.createAccount();
        const there = await add(key, first);
        const { pages, late } = await walk(key, '', limit, added);
        const order = (await all(key)).map(({ id }) => id);
        const seen = pages.flat().map(({ id }) => id);
        expect(there.filter((id) => !seen.includes(id))).toEqual([]);
        for (const page of pages) {
          const start = order.indexOf(page[0]?.id ?? '');
          expect(page.map(({ id }) => id)).toEqual(
            page.length === 0 ? [] : order.slice(start, start + page.length),
          );
        }
        expect(seen.length - new Set(seen).size).toBeLessThanOrEqual(late.length);
        expect(new Set(order)).toEqual(new Set([...there, ...late]));
      }),
      { numRuns: 15 },
    );
  });

  it('returns each message exactly once when `until` is set', async () => {
    await fc.assert(
      fc.asyncProperty(course, async ({ first, limit, added }) => {
        const { sandboxKey: key } = await gateway.createAccount();
        await add(key, first);
        const before = await all(key);
        const until = before[0]?.createdAt ?? new Date().toISOString();
        await eventually(() => Date.now() > Date.parse(until));
        const { pages } = await walk(key, `until=${until}`, limit, added);
        expect(pages.flat()).toEqual(before);
      }),
      { numRuns: 15 },
    );
  });

  it('numbers and times agree, with messages from several processes', async () => {
    await using second = await startTestGateway({}, gateway.database);
    const { sandboxKey: key } = await gateway.createAccount();
    const body = { to: '0700123456', message: 'Hello' };
    await Promise.all(
      Array.from({ length: 200 }, (_, index) =>
        (index % 2 ? gateway : second).call('POST', '/developers/sms', { key, body }),
      ),
    );
    const times = (await all(key)).map(({ createdAt }) => createdAt);
    expect(times).toHaveLength(200);
    expect(times).toEqual([...times].sort().reverse());
  });
});
