/** Tests the pumping watch over the wire, with two processes: what it holds, what a review does, and the money. */
import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { down } from '../../migrations/0205_held_reviews.ts';
import { parseConfig } from '../../src/config/config.ts';
import { FIRST_UUID } from '../../src/domain/uuid.ts';
import { dropFence, raiseFence } from '../../src/storage/cells/fence.ts';
import { withKnex } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { type Answer, startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { codesOf, graphql, inviteMember, signIn } from '../support/graphql.ts';
import { stopLimitClock } from '../support/limit-clock.ts';
import { checkLedger, openSql, type TestSql } from '../support/sql.ts';
import { sweepAt } from '../support/sweeps.ts';
import { withUnitOfWork } from '../support/unit-of-work.ts';

const PRICE = 30;
const HOUR_MS = 3_600_000;
const SYSTEM = { kind: 'system', name: 'test' } as const;
const BLOCKS = '{ heldBlocks { block messages recipients cost currency heldSince expiresAt } }';
const REVIEW = `mutation ($block: String!, $decision: ReviewDecision!) {
  reviewHeld(block: $block, decision: $decision) { block decision messages recipients cost currency left } }`;

describe('the pumping watch', () => {
  let gateway: TestGateway;
  let other: TestGateway;
  let sql: TestSql;
  let ranges = 1_000;
  beforeAll(async () => {
    gateway = await startTestGateway({ PUMPING_WATCH: 'on' });
    other = await startTestGateway({ PUMPING_WATCH: 'on' }, gateway.database);
    sql = await openSql(gateway.database);
    await stopLimitClock(gateway);
  });
  afterAll(async () => {
    await sql?.close();
    await other?.stop();
    await gateway?.stop();
  });

  /** Returns a block that no other test writes to, nor to its neighbours. */
  const newBlock = () => {
    ranges += 3;
    return `+25677${ranges}`;
  };
  const inBlock = (block: string, at: number) => `${block}${String(at).padStart(3, '0')}`;
  const send = (key: string, to: string, at = gateway, more: object = {}) =>
    at.call('POST', '/developers/sms', { key, body: { to, message: 'Hello', ...more } });
  const balanceOf = async ({ key }: TestAccount) =>
    (await gateway.call('GET', '/account', { key })).body.balance;
  const messageOf = async ({ key }: TestAccount, id: string) =>
    (await gateway.call('GET', `/developers/sms/${id}`, { key })).body;
  const isHeld = ({ body }: Answer) => body.statusReason === 'held_for_review';
  const heldOf = async ({ key }: TestAccount) =>
    (await gateway.call('GET', '/developers/held', { key })).body.held;
  const ownerOf = (account: TestAccount) => signIn(gateway, account);
  const review = (token: string, block: string, decision: string, at = gateway) =>
    graphql(at, REVIEW, { token, variables: { block, decision } });
  /** Sends one message to each of `count` numbers in a row, a few at a time. Returns the answers. */
  async function attack(
    { key }: TestAccount,
    count: number,
    from: number,
    at = [gateway],
    block = newBlock(),
  ) {
    const answers: Answer[] = [];
    for (let next = 0; next < count; next += 8) {
      const some = Array.from({ length: Math.min(8, count - next) }, (_, index) => next + index);
      const sent = some.map((index) => {
        const number = Number(block.slice(1)) * 1_000 + from + index;
        return send(key, `+${number}`, at[index % at.length]);
      });
      answers.push(...(await Promise.all(sent)));
    }
    return { block, answers, held: answers.filter(isHeld) };
  }
  /** Holds a few messages of a new account. Returns them, and the block that is named. */
  async function hold(balance = 100_000, count = 18) {
    const account = await gateway.createAccount(balance);
    const { block, answers, held } = await attack(account, count, 100);
    expect(held.length).toBeGreaterThan(0);
    const ids: string[] = held.map(({ body }) => body.id);
    return { account, block, answers, ids, left: answers.length - held.length };
  }
  const settled = (account: TestAccount, ids: readonly string[]) =>
    eventually(async () => {
      const messages = await Promise.all(ids.map((id) => messageOf(account, id)));
      return messages.every(({ status }) => status === 'delivered') && messages;
    });

  it('holds an attack of 500 numbers in a row within 20, over two processes and blocks (R392, R396)', async () => {
    const account = await gateway.createAccount();
    // A month of ordinary traffic to these networks, as analytics count it.
    await sql.query(
      `INSERT INTO analytics_slots (slot, minutes, account_id, channel, environment, api_key_id, sender, prefix, provider,
         status, error_code, messages, recipients, cost_minor, refund_minor)
       SELECT date_trunc('day', now(), 'UTC') - day * interval '1 day', 1440, $1, 'sms', 'production', '', 'SERVICE',
         '+2567', 'simulator', 'delivered', '', 0, 1000 + 100 * (day % 7), 0, 0 FROM generate_series(1, 28) day`,
      [account.accountId],
    );
    const { answers, held } = await attack(account, 500, 850, [gateway, other]);
    expect(answers.every(({ status }) => status === 200)).toBe(true);
    const left = answers.length - held.length;
    expect(left).toBeLessThanOrEqual(20);
    expect(left).toBeGreaterThan(0);
    expect(await balanceOf(account)).toBe(100_000 - left * PRICE);
    await checkLedger(sql, account.accountId);
    expect(held[0]?.body).toMatchObject({
      status: 'pending',
      cost: 0,
      statusReason: 'held_for_review',
    });
    // Another account is not affected by what this one did.
    const neighbour = await gateway.createAccount();
    const [to] = held[0]?.body.to ?? [];
    expect(isHeld(await send(neighbour.key, to))).toBe(false);
  });

  it('holds no ordinary traffic: campaigns to random numbers, and many messages to the same ones (R392)', async () => {
    const account = await gateway.createAccount(1_000_000);
    // Steps of a prime give numbers that are spread like random ones, but the same in each run.
    const numberAt = (index: number) =>
      `+25670${String((index * 7_368_787 + 1_234_567) % 10_000_000).padStart(7, '0')}`;
    for (let campaign = 0; campaign < 4; campaign += 1) {
      const to = Array.from({ length: 1_000 }, (_, index) => numberAt(campaign * 1_000 + index)).join(',');
      const answer = await send(account.key, to, campaign % 2 === 0 ? gateway : other);
      expect([answer.status, isHeld(answer)]).toEqual([200, false]);
    }
    const block = newBlock();
    for (let round = 0; round < 20; round += 1) {
      const answer = await send(account.key, inBlock(block, round % 10));
      expect(isHeld(answer)).toBe(false);
    }
    expect(await heldOf(account)).toEqual([]);
  });

  it.each([
    [2, true],
    [61 * 24, true],
    [63 * 24, false],
  ])('knows numbers that were written to %s hours ago: %s (R392)', async (hours, isKnown) => {
    const account = await gateway.createAccount();
    const { block, answers } = await attack(account, 11, 100);
    expect(answers.some(isHeld)).toBe(false);
    await settled(
      account,
      answers.map(({ body }) => body.id),
    );
    const age = (column: string) =>
      `(lpad(to_hex(('x' || substr(replace(${column}::text, '-', ''), 1, 12))::bit(48)::bigint - ${hours * HOUR_MS}), 12, '0')
        || substr(replace(${column}::text, '-', ''), 13))::uuid`;
    await sql.query(
      `WITH moved AS (UPDATE messages SET id = ${age('id')} WHERE account_id = $1 RETURNING 1)
       UPDATE recipients SET message_id = ${age('message_id')} WHERE account_id = $1`,
      [account.accountId],
    );
    await sql.query('DELETE FROM pumping_numbers WHERE account_id = $1', [account.accountId]);
    // A process that has not seen them before: the other one.
    const again = await attack(account, 11, 100, [other], block);
    expect(again.answers.some(isHeld)).toBe(false);
    const more = await attack(account, 11, 300, [other], block);
    expect(more.answers.some(isHeld)).toBe(!isKnown);
    if (!isKnown) return;
    expect(isHeld(await send(account.key, inBlock(block, 320), other))).toBe(false);
    expect(isHeld(await send(account.key, inBlock(block, 321), other))).toBe(true);
    expect(isHeld(await send(account.key, inBlock(block, 100), other))).toBe(false);
  });

  describe('lets at most 20 numbers of a block leave (R392)', () => {
    const shuffled = (numbers: readonly string[]) =>
      numbers.map((_, index) => numbers[(index * 37) % numbers.length] ?? '');
    const row = (block: string, count: number) =>
      Array.from({ length: count }, (_, at) => `+${Number(block.slice(1)) * 1_000 + 950 + at}`);
    /** Sends the messages in turn over keys and processes. Returns how many recipients have left. */
    async function left(
      messages: readonly (readonly string[])[],
      keys: readonly string[],
      at: TestGateway[],
    ) {
      let leaving = 0;
      for (const [index, to] of messages.entries()) {
        const key = keys[index % keys.length] ?? '';
        const answer = await send(key, to.join(','), at[index % at.length]);
        expect(answer.status).toBe(200);
        if (!isHeld(answer)) leaving += to.length;
      }
      return leaving;
    }

    it('in several messages, with several keys, over two processes, shuffled', async () => {
      const account = await gateway.createAccount();
      const more = await gateway.createKey(account.accountId, {});
      const numbers = shuffled(row(newBlock(), 120));
      const messages = Array.from({ length: 40 }, (_, at) => numbers.slice(3 * at, 3 * at + 3));
      const leaving = await left(messages, [account.key, more.key], [gateway, other]);
      expect(leaving).toBeLessThanOrEqual(20);
      expect(leaving).toBeGreaterThan(0);
    });

    it('in one message', async () => {
      const account = await gateway.createAccount();
      expect(await left([row(newBlock(), 500)], [account.key], [gateway])).toBe(0);
      expect(await balanceOf(account)).toBe(100_000);
    });

    it('of each of several blocks in turn', async () => {
      const account = await gateway.createAccount();
      const rows = Array.from({ length: 5 }, () => row(newBlock(), 40));
      const messages = Array.from({ length: 200 }, (_, at) => [rows[at % 5]?.[Math.floor(at / 5)] ?? '']);
      expect(await left(messages, [account.key], [gateway, other])).toBeLessThanOrEqual(5 * 20);
    });
  });

  it('does not hold the first campaign of an account, of up to 5,000 numbers of two networks (R392)', async () => {
    const account = await gateway.createAccount(1_000_000);
    // Only a tenth of the numbers of each network is in use, all in a row, so that 2.5 fall into each block.
    const numberAt = (index: number) => {
      const random = createHash('sha256').update(`number ${index}`).digest().readUInt32BE();
      return `+2567${index % 2 === 0 ? 4 : 5}3${String(random % 1_000_000).padStart(6, '0')}`;
    };
    for (let part = 0; part < 5; part += 1) {
      const to = Array.from({ length: 1_000 }, (_, index) => numberAt(part * 1_000 + index)).join(',');
      const answer = await send(account.key, to);
      expect([answer.status, isHeld(answer)]).toEqual([200, false]);
    }
    // An attack in the same hour finds a higher bound, but not an endless one.
    const { held } = await attack(account, 100, 100, [gateway], '+256749990');
    expect(held.length).toBeGreaterThanOrEqual(100 - 42);
  });

  it('counts a send to many blocks in one transaction (R396)', async () => {
    const account = await gateway.createAccount(1_000_000);
    const original = pg.Query.prototype.submit;
    let transactions = 0;
    pg.Query.prototype.submit = function (this: { readonly text: string }, ...given) {
      if (this.text.includes("'pumping '")) transactions += 1;
      return original.apply(this as unknown as pg.Query, given);
    };
    try {
      const sendTo = async (numberAt: (index: number) => string) => {
        transactions = 0;
        const answer = await send(
          account.key,
          Array.from({ length: 1_000 }, (_, at) => numberAt(at)).join(','),
        );
        return [answer.status, isHeld(answer), transactions];
      };
      // Each block has one number more with each message. This is a campaign with a bound of 42, so the process asks
      // from 21 numbers of a block and its neighbour on: with the eleventh message, about all blocks at once.
      const seen = [];
      for (let round = 101; round <= 111; round += 1)
        seen.push(await sendTo((at) => `+25676${at + 1_000}${round}`));
      expect(seen).toEqual([...Array(10).fill([200, false, 0]), [200, false, 1]]);
      // 100 numbers in each of ten blocks.
      expect(await sendTo((at) => `+2567690${(at % 10) * 3 + 10}${100 + Math.floor(at / 10)}`)).toEqual([
        200,
        true,
        1,
      ]);
    } finally {
      pg.Query.prototype.submit = original;
    }
  });

  it('takes the counts of a refused send back (R392)', async () => {
    const account = await gateway.createAccount(0);
    const block = newBlock();
    for (let at = 0; at < 20; at += 1) {
      const answer = await send(account.key, inBlock(block, at), at % 2 === 0 ? gateway : other);
      // What is held costs nothing, so it would not be refused.
      expect([answer.status, isHeld(answer)]).toEqual([402, false]);
    }
    const counted = 'SELECT block FROM pumping_numbers WHERE account_id = $1';
    expect(await sql.query(counted, [account.accountId])).toEqual([]);
    await gateway.parts.operations.accounts.topUp.run(SYSTEM, {
      accountId: account.accountId,
      amount: 100 * PRICE,
    });
    const { answers } = await attack(account, 12, 500, [gateway, other], block);
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    expect(answers.some(isHeld)).toBe(false);
  });

  it('answers why it refused a send, even if its counts cannot be taken back (R392)', async () => {
    const account = await gateway.createAccount(0);
    const block = newBlock();
    await sql.query(
      `CREATE FUNCTION keep_numbers() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'kept'; END $$`,
    );
    await sql.query(
      `CREATE TRIGGER keep_numbers BEFORE DELETE ON pumping_numbers FOR EACH ROW EXECUTE FUNCTION keep_numbers()`,
    );
    try {
      const to = [0, 1, 2, 3, 4, 5].map((at) => inBlock(block, at));
      const { status, body } = await send(account.key, to.join(','));
      expect([status, body.error.code]).toEqual([402, 'insufficient_balance']);
    } finally {
      await sql.query('DROP FUNCTION keep_numbers CASCADE');
    }
    const counted = 'SELECT block FROM pumping_numbers WHERE account_id = $1';
    expect(await sql.query(counted, [account.accountId])).toHaveLength(6);
  });

  it('answers that the gateway is busy without waiting for the counts that it takes back (R392)', async () => {
    const [rich, poor, account] = [
      await gateway.createAccount(),
      await gateway.createAccount(0),
      await gateway.createAccount(),
    ];
    const [NUMBERS, MESSAGES] = [8_001, 8_002];
    const client = new pg.Client(gateway.database.connection);
    await client.connect();
    const waitingFor = async (lock: number) =>
      (await sql.query('SELECT FROM pg_locks WHERE objid = $1 AND NOT granted', [lock])).length;
    await sql.query(
      `CREATE FUNCTION wait_for() RETURNS trigger LANGUAGE plpgsql SET lock_timeout = 0 AS
       $$ BEGIN PERFORM pg_advisory_xact_lock(tg_argv[0]::bigint); RETURN coalesce(NEW, OLD); END $$`,
    );
    await sql.query(
      `CREATE TRIGGER wait_for BEFORE DELETE ON pumping_numbers FOR EACH ROW EXECUTE FUNCTION wait_for(${NUMBERS})`,
    );
    await sql.query(
      `CREATE TRIGGER wait_for BEFORE INSERT ON messages FOR EACH STATEMENT EXECUTE FUNCTION wait_for(${MESSAGES})`,
    );
    const sent: Promise<Answer>[] = [];
    try {
      await client.query('SELECT pg_advisory_lock($1), pg_advisory_lock($2)', [NUMBERS, MESSAGES]);
      sent.push(send(rich.key, inBlock(newBlock(), 1)));
      await eventually(async () => (await waitingFor(MESSAGES)) === 1);
      // 20,000 recipients may wait.
      for (let at = 0; at < 21; at += 1) {
        const to = Array.from(
          { length: 1_000 },
          (_, index) => `+2567${10_000_000 + at * 1_000_000 + index * 999}`,
        );
        sent.push(send(poor.key, to.join()));
      }
      expect((await Promise.race(sent)).status).toBe(503);
      const block = newBlock();
      const { status, body } = await send(
        account.key,
        [0, 1, 2, 3, 4].map((at) => inBlock(block, at)).join(),
      );
      expect([status, body.error.code]).toEqual([503, 'service_unavailable']);
      await eventually(async () => (await waitingFor(NUMBERS)) === 1);
      await client.query('SELECT pg_advisory_unlock($1)', [NUMBERS]);
      await eventually(async () => {
        const counted = 'SELECT block FROM pumping_numbers WHERE account_id = $1';
        return (await sql.query(counted, [account.accountId])).length === 0;
      });
    } finally {
      await client.end();
      await Promise.allSettled(sent);
      await sql.query('DROP FUNCTION wait_for CASCADE');
    }
    expect((await sent[0])?.status).toBe(200);
  });

  it('takes counts back after a count that is under way, so that the two do not deadlock (R392)', async () => {
    const { accountId } = await gateway.createAccount();
    const block = newBlock();
    const addresses = [inBlock(block, 1), inBlock(block, 2)];
    await withUnitOfWork(gateway, async (uow, stores) => {
      const { added } = await uow.run((tx) =>
        tx.held.countNumbers({
          accountId,
          bounds: new Map([[block, 12]]),
          added: addresses,
          local: [],
          since: new Date(),
          until: new Date(),
        }),
      );
      if (!added) throw new Error('nothing was counted');
      const client = new pg.Client(gateway.database.connection);
      await client.connect();
      try {
        await client.query('BEGIN');
        await client.query("SELECT pg_advisory_xact_lock(hashtextextended('pumping ' || $1::text, 0))", [
          accountId,
        ]);
        const done = stores.held.takeBack(added);
        await eventually(async () => {
          const waiting = "SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted";
          return (await sql.query(waiting)).length === 1;
        });
        // A count locks rows one after the other. While it waits, the other holds none of them.
        const lock = 'SELECT FROM pumping_numbers WHERE account_id = $1 AND ending = $2 FOR UPDATE NOWAIT';
        for (const ending of ['002', '001']) await client.query(lock, [accountId, ending]);
        await client.query('COMMIT');
        await done;
      } finally {
        await client.end();
      }
    });
    expect(await sql.query('SELECT FROM pumping_numbers WHERE account_id = $1', [accountId])).toEqual([]);
  });

  it('does not store the number of an erased person again (R392, R490)', async () => {
    const account = await gateway.createAccount();
    const { block } = await attack(account, 3, 100);
    const erased = inBlock(block, 101);
    await eventually(async () => {
      const path = `/developers/recipients/${encodeURIComponent(erased)}?reason=Asked`;
      return (await gateway.call('DELETE', path, { key: account.key })).status === 202;
    });
    await eventually(async () => {
      const { data } = (await gateway.call('GET', '/developers/erasures', { key: account.key })).body;
      return data[0].doneAt !== null;
    });
    await attack(account, 5, 200, [gateway], block);
    const endings = await sql.query('SELECT ending FROM pumping_numbers WHERE account_id = $1 ORDER BY 1', [
      account.accountId,
    ]);
    expect(endings.length).toBeGreaterThan(0);
    expect(endings.map(({ ending }) => ending)).not.toContain('101');
  });

  it('watches if PUMPING_WATCH is on, which is the default in production only (R399)', async () => {
    const production = {
      NODE_ENV: 'production',
      MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
      DATABASE_URL: gateway.database.url,
    };
    expect(parseConfig(production).watchesPumping).toBe(true);
    expect(parseConfig({ ...production, PUMPING_WATCH: 'off' }).watchesPumping).toBe(false);
    expect(parseConfig({}).watchesPumping).toBe(false);
    expect(parseConfig({ PUMPING_WATCH: 'on' }).watchesPumping).toBe(true);
    const account = await gateway.createAccount();
    await using unwatched = await startTestGateway({ ROLES: 'api' }, gateway.database);
    const { answers } = await attack(account, 30, 100, [unwatched]);
    expect(answers.every(({ body }) => body.status === 'pending' && body.statusReason === undefined)).toBe(
      true,
    );
  });

  it('shows held messages by block, in REST and GraphQL, and none to a sandbox key (R398)', async () => {
    const { account, block, ids } = await hold();
    const owner = await ownerOf(account);
    const [shown, ...others] = await heldOf(account);
    expect(others).toEqual([]);
    expect(shown).toMatchObject({
      block,
      messages: ids.length,
      recipients: ids.length,
      cost: ids.length * PRICE,
      currency: 'UGX',
    });
    expect(Date.parse(shown.expiresAt) - Date.parse(shown.heldSince)).toBe(72 * HOUR_MS);
    expect((await graphql(gateway, BLOCKS, { token: owner })).body.data.heldBlocks).toEqual([shown]);
    const sandbox = await gateway.call('GET', '/developers/held', { key: account.sandboxKey });
    expect(sandbox.body.held).toEqual([]);
    const { body } = await gateway.call('GET', `/developers/messages/${ids[0]}?explain=true`, {
      key: account.key,
    });
    expect(JSON.stringify(body)).toContain('held_for_review');
  });

  it('charges and sends what is released, once, and lets the block pass then (R393, R394)', async () => {
    const { account, block, ids, left } = await hold();
    const owner = await ownerOf(account);
    expect(await balanceOf(account)).toBe(100_000 - left * PRICE);
    // Eight reviews at once, in two processes: one of them does it.
    const reviews = await Promise.all(
      Array.from({ length: 8 }, (_, at) => review(owner, block, 'RELEASE', at % 2 ? gateway : other)),
    );
    const done = reviews.filter((answer) => answer.body.data?.reviewHeld);
    expect(done.map(({ body }) => body.data.reviewHeld)).toEqual([
      {
        block,
        decision: 'RELEASE',
        messages: ids.length,
        recipients: ids.length,
        cost: ids.length * PRICE,
        currency: 'UGX',
        left: 0,
      },
    ]);
    expect(new Set(reviews.flatMap(codesOf))).toEqual(new Set(['NOT_FOUND']));
    expect(await balanceOf(account)).toBe(100_000 - (left + ids.length) * PRICE);
    await checkLedger(sql, account.accountId);
    const messages = await settled(account, ids);
    expect(messages[0]).toMatchObject({ cost: PRICE, status: 'delivered' });
    expect(messages[0].statusReason).toBeUndefined();
    expect(messages[0].recipients[0].cost).toBe(PRICE);
    expect(isHeld(await send(account.key, inBlock(block, 999)))).toBe(false);
    const audited = await sql.query(
      `SELECT actor, after FROM audit_entries WHERE account_id = $1 AND action = 'held.review'`,
      [account.accountId],
    );
    expect(audited).toMatchObject([{ after: { decision: 'release', messages: ids.length } }]);
  });

  it('counts released messages in usage and analytics like others, folded before or after (R394)', async () => {
    for (const isFoldedBefore of [true, false]) {
      const { account, block } = await hold();
      const fold = () =>
        withUnitOfWork(gateway, async (_uow, stores) => {
          await stores.usage.fold();
          await stores.analytics.fold();
        });
      if (isFoldedBefore) await fold();
      const owner = await ownerOf(account);
      expect(codesOf(await review(owner, block, 'RELEASE'))).toEqual([]);
      const spent = 100_000 - (await balanceOf(account));
      await eventually(async () => {
        await fold();
        const [usage] = await sql.query(
          'SELECT sum(cost_minor)::int AS cost FROM usage_days WHERE account_id = $1',
          [account.accountId],
        );
        const [analytics] = await sql.query(
          `SELECT sum(cost_minor)::int AS cost, sum(recipients)::int AS recipients,
             min(cost_minor)::int AS least FROM analytics_slots WHERE account_id = $1 AND minutes = 1440`,
          [account.accountId],
        );
        return (
          usage.cost === spent &&
          analytics.cost === spent &&
          analytics.recipients === 18 &&
          analytics.least >= 0
        );
      });
    }
  });

  it('fails what is rejected, and never charges it (R394)', async () => {
    const { account, block, ids, left } = await hold();
    const owner = await ownerOf(account);
    const { body } = await review(owner, block, 'REJECT');
    expect(body.data.reviewHeld).toMatchObject({ messages: ids.length, cost: 0, left: 0 });
    const message = await messageOf(account, ids[0] ?? '');
    expect(message).toMatchObject({ status: 'failed', cost: 0 });
    expect(message.recipients[0]).toMatchObject({ status: 'failed', refunded: 0 });
    expect(JSON.stringify(message.recipients[0])).toContain('review_rejected');
    expect(message.statusReason).toBeUndefined();
    expect(await balanceOf(account)).toBe(100_000 - left * PRICE);
    await checkLedger(sql, account.accountId);
    expect(await heldOf(account)).toEqual([]);
    // The block is not trusted: the next message is held again.
    expect(isHeld(await send(account.key, inBlock(block, 999)))).toBe(true);
  });

  it('refuses a release that the balance does not cover, and changes nothing (R394)', async () => {
    const { account, block, ids } = await hold(20 * PRICE, 40);
    const owner = await ownerOf(account);
    const before = await balanceOf(account);
    const refused = await review(owner, block, 'RELEASE');
    expect(codesOf(refused)).toEqual(['INSUFFICIENT_BALANCE']);
    expect(await balanceOf(account)).toBe(before);
    expect(await heldOf(account)).toMatchObject([{ block, messages: ids.length }]);
    await gateway.parts.operations.accounts.topUp.run(SYSTEM, {
      accountId: account.accountId,
      amount: 40 * PRICE,
    });
    expect(codesOf(await review(owner, block, 'RELEASE'))).toEqual([]);
    await checkLedger(sql, account.accountId);
    expect(await balanceOf(account)).toBe(before + 40 * PRICE - ids.length * PRICE);
  });

  it('lets only owners, administrators and operators review (R394)', async () => {
    const { account, block } = await hold();
    const owner = await ownerOf(account);
    const developer = await signIn(gateway, await inviteMember(gateway, owner, 'DEVELOPER'));
    expect(codesOf(await review(developer, block, 'RELEASE'))).toEqual(['FORBIDDEN']);
    const ofKey = gateway.parts.operations.held.review.run(
      {
        kind: 'api-key',
        accountId: account.accountId,
        keyId: account.key.split('_')[1] ?? '',
        environment: 'production',
        scopes: ['FULL_ACCESS'],
      } as never,
      { block, decision: 'release' },
    );
    await expect(ofKey).rejects.toMatchObject({ code: 'forbidden' });
    const foreign = await ownerOf(await gateway.createAccount());
    expect(codesOf(await review(foreign, block, 'RELEASE'))).toEqual(['NOT_FOUND']);
    expect(await heldOf(account)).toHaveLength(1);
  });

  it('cancels a held message without a charge, also against reviews at the same time (R393)', async () => {
    const { account, block, ids, left } = await hold();
    const owner = await ownerOf(account);
    const [first = '', ...rest] = ids;
    const cancel = (id: string, at = gateway) =>
      at.call('DELETE', `/developers/messages/${id}`, { key: account.key });
    expect((await cancel(first)).status).toBe(200);
    expect(await messageOf(account, first)).toMatchObject({ status: 'failed', cost: 0 });
    expect(await heldOf(account)).toMatchObject([{ messages: rest.length }]);
    const [released, ...canceled] = await Promise.all([
      review(owner, block, 'RELEASE', other),
      ...rest.map((id) => cancel(id)),
    ]);
    const charged = released?.body.data?.reviewHeld?.messages ?? 0;
    const ends = await Promise.all(rest.map((id) => messageOf(account, id)));
    await checkLedger(sql, account.accountId);
    // A released message may be canceled too, until a worker has it. Its refund then brings its charge back.
    const [sums] = await sql.query(
      `SELECT count(*) FILTER (WHERE kind = 'charge')::int AS charges,
         count(*) FILTER (WHERE kind = 'refund')::int AS refunds FROM ledger_entries WHERE account_id = $1`,
      [account.accountId],
    );
    expect(sums.charges).toBe(left + charged);
    const refused = canceled.filter(({ status }) => status !== 200).length;
    expect(sums.charges - sums.refunds - left).toBe(refused);
    expect(ends).toHaveLength(rest.length);
    expect(await heldOf(account)).toEqual([]);
  });

  it('fails what nobody has reviewed within 72 hours (R395)', async () => {
    const { account, ids, left } = await hold();
    await sweepAt(gateway, new Date(Date.now() + 71 * HOUR_MS));
    expect(await messageOf(account, ids[0] ?? '')).toMatchObject({ status: 'pending' });
    await sweepAt(gateway, new Date(Date.now() + 73 * HOUR_MS));
    const message = await messageOf(account, ids[0] ?? '');
    expect(message).toMatchObject({ status: 'failed', cost: 0 });
    expect(JSON.stringify(message.recipients[0])).toContain('expired');
    expect(await balanceOf(account)).toBe(100_000 - left * PRICE);
    await checkLedger(sql, account.accountId);
  });

  it('expires what is held while another account moves to another cell (R395, R503)', async () => {
    const [moving, staying] = [await hold(), await hold()];
    const client = new pg.Client(gateway.database.connection);
    await client.connect();
    const { accountId } = moving.account;
    try {
      await client.query("UPDATE accounts SET moving = 'closed' WHERE id = $1", [accountId]);
      await raiseFence(client, accountId);
      await sweepAt(gateway, new Date(Date.now() + 73 * HOUR_MS));
      expect(await heldOf(staying.account)).toEqual([]);
      expect(await heldOf(moving.account)).toHaveLength(1);
    } finally {
      await dropFence(client, accountId);
      await client.query('UPDATE accounts SET moving = NULL WHERE id = $1', [accountId]);
      await client.end();
    }
    await sweepAt(gateway, new Date(Date.now() + 73 * HOUR_MS));
    expect(await heldOf(moving.account)).toEqual([]);
  });

  it('refuses a downgrade that would leave held messages pending for ever (R393)', async () => {
    const { account, ids } = await hold();
    await withKnex(gateway.database.connection, async (knex) => {
      await expect(down(knex)).rejects.toThrow(/messages are held for review\. Release or reject them/);
    });
    expect(await heldOf(account)).toMatchObject([{ messages: ids.length }]);
  });

  it('is not of unknown outcome in a restored copy, because no copy hands it over (R393, R232)', async () => {
    const { account, ids } = await hold();
    const pending = await withUnitOfWork(gateway, async (_uow, stores) => {
      const { pending: found } = await stores.copy.pendingAfter(
        { messageId: FIRST_UUID, position: -1 },
        10_000,
      );
      return found.map(({ messageId }) => messageId);
    });
    expect(pending.filter((id) => ids.includes(id))).toEqual([]);
    expect(await heldOf(account)).toHaveLength(1);
  });

  it('answers a repeat with the same idempotency key as before (R393)', async () => {
    const { account, block } = await hold();
    const headers = { 'Idempotency-Key': 'held' };
    const body = { to: inBlock(block, 500), message: 'Hello' };
    const ask = () => gateway.call('POST', '/developers/sms', { key: account.key, body, headers });
    const [first, second] = [await ask(), await ask()];
    expect(isHeld(first)).toBe(true);
    expect(second.text).toBe(first.text);
  });

  it('counts held messages in send limits with what they would cost (R393)', async () => {
    const { account, block } = await hold();
    await gateway.parts.operations.sendLimits.setOfAccount.run(SYSTEM, {
      accountId: account.accountId,
      spendPerDay: 2 * PRICE,
    });
    await eventually(async () => {
      const { body } = await gateway.call('GET', '/account/limits', { key: account.key });
      return body.limits.length > 0;
    });
    const answers = [];
    for (let at = 0; at < 3; at += 1) answers.push(await send(account.key, inBlock(block, 600 + at)));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 402]);
    expect(answers.slice(0, 2).every(isHeld)).toBe(true);
  });

  it('opens one alert for a block, and resolves it after the review (R397)', async () => {
    const { account, block, ids } = await hold();
    const alerts = async (state: string) => {
      await gateway.parts.alerts.watchAccounts(0);
      const path = `/developers/alerts?kind=messages_held&state=${state}`;
      return (await gateway.call('GET', path, { key: account.key })).body.data;
    };
    const [alert] = await eventually(async () => {
      const open = await alerts('open');
      return open.length > 0 && open;
    });
    expect(alert).toMatchObject({ kind: 'messages_held', detail: { block, messages: ids.length } });
    expect(codesOf(await review(await ownerOf(account), block, 'REJECT'))).toEqual([]);
    await eventually(
      async () => (await alerts('resolved')).length === 1 && (await alerts('open')).length === 0,
    );
  });
});
