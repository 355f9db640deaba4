import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { withKnex } from '../support/database.ts';
import { type Answer, startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { codesOf, graphql, signIn } from '../support/graphql.ts';

const QUERY = `query ($from: DateTime, $to: DateTime, $first: Int, $after: String) {
  ledger(from: $from, to: $to, first: $first, after: $after) {
    nodes { seq createdAt } totalCount pageInfo { hasNextPage endCursor } } }`;
const BEGIN = Date.parse('2026-01-01T00:00:00Z');
const ENTRIES = 400;
const STEP_MS = 10_000;

interface Page {
  readonly nodes: readonly { readonly seq: number }[];
  readonly totalCount: number;
  readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null };
}

describe('a ledger between two times', () => {
  let gateway: TestGateway;
  let account: TestAccount;
  let token: string;
  /** Returns the time of an entry by its number. Some entries have an earlier time than the entry before them. */
  const madeAt = (seq: number) => BEGIN + seq * STEP_MS - (seq % 7 === 0 ? 25_000 : 0);
  beforeAll(async () => {
    gateway = await startTestGateway({ ROLES: 'api' });
    [account] = [await gateway.createAccount(0), await gateway.createAccount()];
    token = await signIn(gateway, account);
    await withKnex(gateway.database.connection, async (knex) => {
      await knex('ledger_entries').insert(
        Array.from({ length: ENTRIES }, (_, index) => ({
          account_id: account.accountId,
          seq: index + 1,
          amount_minor: 1,
          balance_after_minor: index + 1,
          created_at: new Date(madeAt(index + 1)),
          kind: 'topup',
          actor: 'system:test',
        })),
      );
      await knex('accounts')
        .where({ id: account.accountId })
        .update({ ledger_seq: ENTRIES, balance_minor: ENTRIES });
    });
  });
  afterAll(() => gateway?.stop());

  const page = async (variables: object): Promise<Page> =>
    (await graphql(gateway, QUERY, { token, variables })).body.data.ledger;
  /** Reads the entries between two times, all pages. Returns the entries and the totals that the pages gave. */
  async function between(from: number | null, to: number | null) {
    const times = { from: from === null ? null : new Date(from), to: to === null ? null : new Date(to) };
    const seqs: number[] = [];
    let after: string | null = null;
    for (;;) {
      const ledger = await page({ ...times, first: 90, after });
      seqs.push(...ledger.nodes.map((node) => node.seq));
      after = ledger.pageInfo.endCursor;
      if (!ledger.pageInfo.hasNextPage) return { seqs, total: ledger.totalCount };
    }
  }

  it('is read from its end too, in the same order (R337)', async () => {
    const query = `query ($last: Int, $before: String, $first: Int, $from: DateTime) {
      ledger(last: $last, before: $before, first: $first, from: $from) {
        nodes { seq } pageInfo { hasNextPage hasPreviousPage startCursor } } }`;
    const read = async (variables: object) => graphql(gateway, query, { token, variables });
    const pages: number[][] = [];
    let before: string | null = null;
    for (;;) {
      const answer: Answer = await read({ last: 90, before });
      const { nodes, pageInfo } = answer.body.data.ledger;
      pages.unshift(nodes.map(({ seq }: { seq: number }) => seq));
      expect(pageInfo.hasNextPage).toBe(before !== null);
      before = pageInfo.startCursor;
      if (!pageInfo.hasPreviousPage) break;
    }
    expect(pages.map(({ length }) => length)).toEqual([40, 90, 90, 90, 90]);
    expect(pages.flat()).toEqual(Array.from({ length: ENTRIES }, (_, index) => ENTRIES - index));
    const from = new Date(madeAt(200));
    const { nodes } = (await read({ last: 2, from })).body.data.ledger;
    expect(nodes.map(({ seq }: { seq: number }) => seq)).toEqual([201, 200]);
    for (const wrong of [{ last: 2, first: 2 }, { last: 0 }, { last: 101 }, { before: 'x' }]) {
      expect(codesOf(await read(wrong))).toEqual(['BAD_USER_INPUT']);
    }
    const audit = `query ($last: Int, $before: String) { auditLog(last: $last, before: $before) {
      nodes { id } pageInfo { startCursor hasPreviousPage hasNextPage } } }`;
    const log = async (text: string, variables = {}) =>
      (await graphql(gateway, text, { token, variables })).body.data.auditLog;
    const whole = (await log('{ auditLog(first: 100) { nodes { id } } }')).nodes;
    const oldest = await log(audit, { last: 1 });
    const next = await log(audit, { last: 1, before: oldest.pageInfo.startCursor });
    expect([...next.nodes, ...oldest.nodes]).toEqual(whole.slice(-2));
    expect([oldest.pageInfo.hasNextPage, next.pageInfo.hasNextPage]).toEqual([false, true]);
  });

  it.each([
    ['all of it', null, null],
    ['its beginning', null, madeAt(60)],
    ['its end', madeAt(60), null],
    ['a part', madeAt(33), madeAt(366)],
    ['a part, with the edges between entries', madeAt(33) + 1, madeAt(366) - 1],
    ['a moment', madeAt(70), madeAt(70)],
    ['less than the disorder', madeAt(70), madeAt(71)],
    ['nothing before it', null, BEGIN - 60_000],
    ['nothing after it', madeAt(ENTRIES) + 1, null],
    ['nothing in between', madeAt(50) + 1, madeAt(51) - 1],
    ['times in the wrong order', madeAt(90), madeAt(50)],
  ])('lists and counts %s, the newest first', async (_, from, to) => {
    const expected = Array.from({ length: ENTRIES }, (_, index) => ENTRIES - index).filter((seq) => {
      const at = madeAt(seq);
      return (from === null || at >= from) && (to === null || at <= to);
    });
    expect(await between(from, to)).toEqual({ seqs: expected, total: expected.length });
  });

  it("does not list another account's entries; an account without entries has an empty list", async () => {
    const other = await gateway.createAccount(0);
    const answer = await graphql(gateway, '{ ledger { nodes { seq } totalCount } }', {
      token: await signIn(gateway, other),
    });
    expect(answer.body).toEqual({ data: { ledger: { nodes: [], totalCount: 0 } } });
  });
});
