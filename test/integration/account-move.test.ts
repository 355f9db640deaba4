import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { REPORT_DEADLINE_MS } from '../../src/domain/messages/message.ts';
import { FIRST_UUID } from '../../src/domain/uuid.ts';
import { MOVED_TABLES, UNMOVED_TABLES } from '../../src/storage/cells/account-tables.ts';
import { type CellPair, startCellPair } from '../support/cell-pair.ts';
import { eventually } from '../support/eventually.ts';
import type { Answer, TestAccount, TestGateway } from '../support/gateway.ts';
import { checkLedger, openSql, type TestSql } from '../support/sql.ts';
import { sweepAt } from '../support/sweeps.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';

jest.setTimeout(60_000);

/** The simulator never reports on numbers that end in 0004 (R226). */
const NEVER_REPORTED = '+256700000004';
const DAY_MS = 86_400_000;

let pair: CellPair;
let a: TestSql;
let b: TestSql;
let account: TestAccount;
beforeAll(async () => {
  pair = await startCellPair();
  a = await openSql(pair.a.database);
  b = await openSql(pair.b.database);
});
afterAll(async () => {
  await Promise.all([a.close(), b.close()]);
  await pair[Symbol.asyncDispose]();
});

const send = (gateway: TestGateway, { key }: TestAccount, more: object = {}) =>
  gateway.call('POST', '/developers/sms', { key, body: { to: '+256700123456', message: 'Hello', ...more } });

/** Throws if the feed of the account has a gap, or a webhook delivery twice. */
async function checkFeed(sql: TestSql, accountId: string): Promise<number> {
  const events = await sql.query('SELECT seq FROM events WHERE account_id = $1 ORDER BY seq', [accountId]);
  expect(events.map(({ seq }) => Number(seq))).toEqual(events.map((_, index) => index + 1));
  const [feed] = await sql.query('SELECT last_seq::int AS last FROM event_feeds WHERE account_id = $1', [
    accountId,
  ]);
  expect(feed?.last ?? 0).toBe(events.length);
  return events.length;
}

describe('the tables of a move', () => {
  it('every table is moved or named with the reason why not (R508)', async () => {
    const rows = await a.query(
      "SELECT relname AS name FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace",
    );
    const named = [...MOVED_TABLES.map(({ name }) => name), ...Object.keys(UNMOVED_TABLES)];
    expect(named.toSorted()).toEqual(rows.map(({ name }) => name).toSorted());
  });

  it('every table with an account is moved, or its rows stay for a reason (R508)', async () => {
    const rows = await a.query(
      `SELECT DISTINCT c.relname AS name FROM pg_class c JOIN pg_attribute t ON t.attrelid = c.oid
       WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace AND t.attname = 'account_id'`,
    );
    const moved = new Set(MOVED_TABLES.map(({ name }) => name));
    const left = rows.map(({ name }) => name).filter((name) => !moved.has(name));
    expect(left.toSorted()).toEqual([
      'account_move_jobs',
      'account_moves',
      'audit_entries',
      'ledger_check',
      'ledger_mismatches',
      'list_counts',
      'single_sign_on_requests',
    ]);
  });

  it('each moved table comes after those that it refers to (R508)', async () => {
    const rows = await a.query(
      `SELECT conrelid::regclass::text AS child, confrelid::regclass::text AS parent FROM pg_constraint
       WHERE contype = 'f' AND connamespace = 'public'::regnamespace AND conrelid <> confrelid`,
    );
    const place = new Map(MOVED_TABLES.map(({ name }, index) => [name, index]));
    const wrong = rows.filter(
      ({ child, parent }) => place.has(child) && (place.get(child) ?? 0) < (place.get(parent) ?? -1),
    );
    expect(wrong).toEqual([]);
  });
});

describe('a move of an account', () => {
  beforeAll(async () => {
    account = await pair.a.createAccount(1_000_000);
  });

  it('takes everything along: messages, ledger, feed, webhooks, contacts, jobs, and the reports that come later (R503, R504, R506, R509)', async () => {
    await using receiver = Object.assign(await startWebhookReceiver(), {
      async [Symbol.asyncDispose]() {
        await receiver.stop();
      },
    });
    const { key, accountId } = account;
    const hook = await pair.a.call('POST', '/developers/webhooks', {
      key,
      body: { url: receiver.url, events: ['sms.sent'] },
    });
    expect(hook.status).toBe(201);
    await pair.a.call('POST', '/developers/contacts', { key, body: { phone: '+256772000009', name: 'Ada' } });
    const sent: Answer[] = [];
    for (let index = 0; index < 20; index += 1) sent.push(await send(pair.a, account));
    const scheduledFor = new Date(Date.now() + 3_600_000).toISOString();
    const later = await send(pair.a, account, { scheduledFor });
    expect(later.status).toBe(200);

    // Messages are sent while the move goes on. What is refused is sent again, as the answer says.
    let isMoved = false;
    let accepted = 0;
    const refusals = new Set<string>();
    const sender = (async () => {
      while (!isMoved) {
        const answer = await send(pair.a, account);
        if (answer.status === 200) accepted += 1;
        else {
          refusals.add(`${answer.status} ${answer.body.error.code} ${answer.headers.get('retry-after')}`);
          await new Promise((resolve) => setTimeout(resolve, 20));
        }
      }
    })();
    const report = await pair.move(accountId, 'a to b', {
      async onStep(step) {
        // Some more are sent between the first copy and the pause.
        if (step === 'copied') await eventually(() => accepted > 20);
      },
    });
    isMoved = true;
    await sender;

    expect(accepted).toBeGreaterThan(20);
    expect(
      [...refusals].filter((each) => !/^(503 account_moving 2|421 account_moved null)$/.test(each)),
    ).toEqual([]);
    expect(report.rows).toMatchObject({ messages: 21 + accepted, recipients: 21 + accepted, contacts: 1 });
    expect(report.jobs).toBeGreaterThanOrEqual(1);
    await checkLedger(b, accountId);
    // The other cell goes on: what was accepted here is delivered there, and each event reaches the webhook once.
    expect((await send(pair.b, account)).status).toBe(200);
    const total = 21 + accepted + 1;
    await eventually(async () => {
      const [row] = await b.query(
        `SELECT count(*)::int AS open FROM recipients r JOIN messages m ON m.id = r.message_id
         WHERE m.account_id = $1 AND m.scheduled_for IS NULL AND r.status IN ('pending', 'sent')`,
        [accountId],
      );
      return row.open === 0;
    });
    expect(await checkFeed(b, accountId)).toBe(total - 1);
    await eventually(
      () => new Set(receiver.received.map(({ headers }) => headers['x-service-delivery'])).size === total - 1,
    );
    expect(receiver.received).toHaveLength(total - 1);
    // The scheduled message left with its job.
    const jobs = await b.query(
      "SELECT 1 FROM pgboss.job WHERE name = 'submit' AND data->'messageIds' ? $1 AND start_after > now()",
      [later.body.id],
    );
    expect(jobs).toHaveLength(1);
  });

  it('the cell that it left answers that it has moved, and keeps only what is never deleted (R507)', async () => {
    const answer = await pair.a.call('GET', '/account', { key: account.key });
    expect({ status: answer.status, code: answer.body.error.code }).toEqual({
      status: 421,
      code: 'account_moved',
    });
    // What is not fenced may get a row later, from counts of requests that were still to be stored.
    for (const { name, stays, fence } of MOVED_TABLES) {
      if (stays || fence === false) continue;
      const columns = await a.query(
        "SELECT 1 FROM pg_attribute WHERE attrelid = $1::regclass AND attname = 'account_id'",
        [name],
      );
      if (columns.length === 0) continue;
      const rows = await a.query(`SELECT 1 FROM ${name} WHERE account_id = $1 LIMIT 1`, [account.accountId]);
      expect({ name, rows }).toEqual({ name, rows: [] });
    }
    await expect(
      pair.a.parts.operations.accounts.topUp.run(
        { kind: 'system', name: 'test' },
        { accountId: account.accountId, amount: 1 },
      ),
    ).rejects.toThrow(/moved/);
    const triggers = await a.query("SELECT 1 FROM pg_trigger WHERE tgname LIKE 'moving%'");
    expect(triggers).toEqual([]);
    expect(await a.query('SELECT 1 FROM account_move_jobs')).toEqual([]);
  });

  it('comes back, and new keys begin with a slot of the cell (R500, R504)', async () => {
    const { keyId, key } = await pair.b.createKey(account.accountId, {});
    expect(keyId >= '8').toBe(true);
    await pair.move(account.accountId, 'b to a');
    expect((await send(pair.a, { ...account, key })).status).toBe(200);
    expect((await send(pair.a, account)).status).toBe(200);
    expect((await pair.b.call('GET', '/account', { key })).status).toBe(421);
    await checkLedger(a, account.accountId);
  });

  it('comes back before its messages were counted for analytics, and they are counted then (R504)', async () => {
    const moving = await pair.a.createAccount();
    const { accountId } = moving;
    const marks = (sql: TestSql) =>
      sql.query('SELECT 1 FROM analytics_marks WHERE account_id = $1', [accountId]);
    expect((await send(pair.a, moving)).status).toBe(200);
    await pair.a.parts.stores.analytics.fold();
    await eventually(async () => (await marks(a)).length === 1);
    await pair.move(accountId, 'a to b');
    // As if the account had left before it was counted.
    for (const table of ['analytics_marks', 'analytics_slots'])
      await b.query(`DELETE FROM ${table} WHERE account_id = $1`, [accountId]);
    await pair.move(accountId, 'b to a');
    const counted = `SELECT sum(messages)::int AS messages FROM analytics_slots
      WHERE account_id = $1 AND minutes = 15 AND status IN ('pending', 'sent', 'delivered')`;
    await eventually(async () => {
      await pair.a.parts.stores.analytics.fold();
      const [row] = await a.query(counted, [accountId]);
      return row?.messages === 1;
    });
  });
});

describe('a cell with copies of an account that is not there yet', () => {
  const statusIn = async (sql: TestSql, id: string) =>
    (await sql.query('SELECT status FROM recipients WHERE message_id = $1', [id]))[0];
  const sendUnreported = async () => {
    const moving = await pair.a.createAccount();
    const id: string = (await send(pair.a, moving, { to: NEVER_REPORTED })).body.id;
    await eventually(async () => (await statusIn(a, id))?.status === 'sent');
    return { moving, id };
  };

  it('keeps a report until the account has come back (R504, R509)', async () => {
    const { moving, id } = await sendUnreported();
    const [sid] = await a.query('SELECT provider, sid FROM recipients WHERE message_id = $1', [id]);
    await pair.move(moving.accountId, 'a to b');
    await pair.move(moving.accountId, 'b to a', {
      async onStep(step) {
        if (step !== 'copied') return;
        await pair.a.parts.reports.take(sid?.provider ?? '', [{ sid: sid?.sid ?? '', status: 'delivered' }]);
        await pair.a.parts.reports.matchKept();
        expect(await statusIn(a, id)).toMatchObject({ status: 'sent' });
        expect(await statusIn(b, id)).toMatchObject({ status: 'sent' });
        // A long copy takes longer than a kept report is looked at.
        await a.query("UPDATE unmatched_reports SET received_at = received_at - interval '15 minutes'");
        await b.query(
          "UPDATE account_moves SET started_at = started_at - interval '20 minutes' WHERE account_id = $1",
          [moving.accountId],
        );
      },
    });
    await eventually(async () => (await statusIn(a, id))?.status === 'delivered');
    expect(await checkFeed(a, moving.accountId)).toBe(1);
    await checkLedger(a, moving.accountId);
  });

  it('lets no deadline pass unseen (R14, R504)', async () => {
    const { moving, id } = await sendUnreported();
    await pair.move(moving.accountId, 'a to b');
    const reason = async () =>
      (await a.query('SELECT status_reason AS reason FROM messages WHERE id = $1', [id]))[0]?.reason;
    const late = new Date(Date.now() + REPORT_DEADLINE_MS + 1_000);
    await pair.move(moving.accountId, 'b to a', {
      async onStep(step) {
        if (step !== 'copied') return;
        await sweepAt(pair.a, late);
        expect(await reason()).toBe(null);
      },
    });
    await sweepAt(pair.a, late);
    expect(await reason()).toBe('delivery_unconfirmed');
    await checkLedger(a, moving.accountId);
  });

  it('watches no account that has left (R504)', async () => {
    const moving = await pair.a.createAccount();
    const watched = async (at: TestGateway, sql: TestSql) => {
      await eventually(() => at.parts.alerts.watchAccounts(0));
      return sql.query('SELECT kind FROM alerts WHERE account_id = $1', [moving.accountId]);
    };
    await a.query(
      "UPDATE api_keys SET created_at = now() - interval '1 year', expires_at = now() + interval '1 hour' WHERE account_id = $1",
      [moving.accountId],
    );
    await pair.move(moving.accountId, 'a to b');
    expect(await watched(pair.b, b)).toContainEqual({ kind: 'key_expiring' });
    expect(await watched(pair.a, a)).toEqual([]);
  });

  it('gives it no reply, and leaves its retention to the other cell (R380, R504)', async () => {
    const number = '+256700000977';
    const moving = await pair.a.createAccount();
    const [retains, owns] = [
      async () => {
        const lanes = await pair.a.parts.stores.retention.due(new Date(Date.now() + 2 * DAY_MS));
        return lanes.some(({ accountId }) => accountId === moving.accountId);
      },
      () => pair.a.parts.stores.inbound.smsOwner(number, 'SERVICE'),
    ];
    await a.query('UPDATE accounts SET content_days = 1, message_days = 1 WHERE id = $1', [moving.accountId]);
    const id: string = (await send(pair.a, moving, { to: number })).body.id;
    await eventually(async () => (await statusIn(a, id))?.status === 'delivered');
    expect([await retains(), await owns()]).toEqual([true, moving.accountId]);
    await pair.move(moving.accountId, 'a to b');
    await pair.move(moving.accountId, 'b to a', {
      async onStep(step) {
        if (step !== 'copied') return;
        expect(await statusIn(a, id)).toBeDefined();
        expect([await retains(), await owns()]).toEqual([false, undefined]);
      },
    });
    expect([await retains(), await owns()]).toEqual([true, moving.accountId]);
  });

  it('finds no fault in a ledger of which it has only a part (R17, R504)', async () => {
    const moving = await pair.a.createAccount();
    const stranger = crypto.randomUUID();
    for (let count = 0; count < 3; count += 1) expect((await send(pair.a, moving)).status).toBe(200);
    const mismatches = () =>
      a.query('SELECT account_id, seq FROM ledger_mismatches WHERE account_id = ANY ($1)', [
        [moving.accountId, stranger],
      ]);
    await pair.move(moving.accountId, 'a to b');
    expect((await send(pair.b, moving)).status).toBe(200);
    await pair.move(moving.accountId, 'b to a', {
      async onStep(step) {
        if (step !== 'copied') return;
        // The entry of the message from there is here, and the balance is still that of before.
        await a.query('UPDATE ledger_check SET account_id = $1, entry_account_id = $1, entry_seq = 0', [
          FIRST_UUID,
        ]);
        // Of an account that was never here, only a later entry may have been copied so far.
        await a.query(
          `INSERT INTO ledger_entries (account_id, seq, amount_minor, balance_after_minor, created_at, kind, actor)
           VALUES ($1, 7, 1, 10, now(), 'topup', 'test')`,
          [stranger],
        );
        await pair.a.parts.checkLedgers();
        expect(await mismatches()).toEqual([]);
      },
    });
    await checkLedger(a, moving.accountId);
  });
});

describe('ids that carriers gave to messages, which have no key', () => {
  it('are the same in the other cell, though they changed after the first copy (R504)', async () => {
    const other = await pair.a.createAccount();
    const sent = [await send(pair.a, other), await send(pair.a, other), await send(pair.a, other)];
    const [gone, marked, longer] = sent.map(({ body }) => body.id as string);
    const READ = `SELECT s.message_id, s.sid_key, s.part, s.delivered FROM provider_sids s
      JOIN messages m ON m.id = s.message_id WHERE m.account_id = $1 ORDER BY 1, 2, 3`;
    const add = (id: string | undefined, part: number) =>
      a.query(
        `INSERT INTO provider_sids (provider, sid_key, message_id, position, part, parts)
         VALUES ('other', 'id-' || $2::int, $1, 0, $2, 3)`,
        [id, part],
      );
    await eventually(async () => (await a.query(READ, [other.accountId])).length === sent.length);
    for (const id of [gone, marked, longer]) for (const part of [1, 2]) await add(id, part);
    let before: unknown[] = [];
    await pair.move(other.accountId, 'a to b', {
      async onStep(step) {
        if (step === 'frozen') before = await a.query(READ, [other.accountId]);
        if (step !== 'copied') return;
        await a.query('DELETE FROM provider_sids WHERE message_id = $1', [gone]);
        await a.query('UPDATE provider_sids SET delivered = true WHERE message_id = $1 AND part = 1', [
          marked,
        ]);
        await add(longer, 3);
      },
    });
    expect(before).toHaveLength(7);
    expect(await b.query(READ, [other.accountId])).toEqual(before);
  });
});

describe('a move of an account with erased people', () => {
  const MUTED = '+256700000921';
  const UNDER_WAY = '+256700000922';
  const suppress = (at: TestGateway, key: string, address: string) =>
    at.call('POST', '/developers/suppressions', { key, body: { channel: 'sms', address, scope: 'all' } });
  const erase = async (at: TestGateway, key: string, address: string) => {
    const path = `/developers/recipients/${encodeURIComponent(address)}?reason=letter`;
    const { status, body } = await at.call('DELETE', path, { key });
    expect(status).toBe(202);
    return body.erasure as { id: string; addressHash: string };
  };
  const receipt = async (at: TestGateway, key: string, id: string) =>
    (await at.call('GET', `/developers/erasures/${id}`, { key })).body.erasure;
  const done = (at: TestGateway, key: string, id: string) =>
    eventually(async () => (await receipt(at, key, id)).doneAt !== null);

  it('leaves them alone in the other cell, which has a key of its own, and there and back again (R492, R504)', async () => {
    const moving = await pair.a.createAccount();
    const local = await pair.b.createAccount();
    const { key } = moving;
    for (const address of [MUTED, UNDER_WAY]) expect((await suppress(pair.a, key, address)).status).toBe(201);
    const erased = await erase(pair.a, key, MUTED);
    await done(pair.a, key, erased.id);
    // The other cell has erased somebody, too, so its database has another key.
    await suppress(pair.b, local.key, MUTED);
    await done(pair.b, local.key, (await erase(pair.b, local.key, MUTED)).id);
    // This erasure is postponed, so that the account moves before it is done.
    const contact = { phone: UNDER_WAY, name: 'Moved' };
    await pair.a.call('POST', '/developers/contacts', { key, body: contact });
    const open = await erase(pair.a, key, UNDER_WAY);
    await a.query("UPDATE erasures SET retry_at = now() + interval '1 hour' WHERE done_at IS NULL");

    await pair.move(moving.accountId, 'a to b');
    await b.query('UPDATE erasures SET retry_at = now() WHERE done_at IS NULL');
    await done(pair.b, key, open.id);
    expect((await receipt(pair.b, key, erased.id)).addressHash).toBe(erased.addressHash);
    expect(
      await b.query('SELECT 1 FROM suppressions WHERE address = ANY ($1)', [[MUTED, UNDER_WAY]]),
    ).toEqual([]);
    for (const at of [pair.b, pair.a]) {
      if (at === pair.a) await pair.move(moving.accountId, 'b to a');
      for (const to of [MUTED, UNDER_WAY]) {
        const refused = await send(at, moving, { to });
        expect([refused.status, refused.body.error?.code]).toEqual([400, 'all_recipients_suppressed']);
      }
      // Another erasure of the same person has the same hash.
      const again = await erase(at, key, MUTED);
      expect(again.addressHash).toBe(erased.addressHash);
      await done(at, key, again.id);
    }
    const refused = await send(pair.b, local, { to: MUTED });
    expect(refused.body.error?.code).toBe('all_recipients_suppressed');
    // Whom the person allows to write again is found by the address.
    const listed = await pair.a.call('GET', `/developers/suppressions?address=${encodeURIComponent(MUTED)}`, {
      key,
    });
    expect(
      (await pair.a.call('DELETE', `/developers/suppressions/${listed.body.data[0].id}`, { key })).status,
    ).toBe(200);
    expect((await send(pair.a, moving, { to: MUTED })).status).toBe(200);
  });
});

describe('a move that is killed (R505)', () => {
  it.each(['copying', 'copied', 'closed', 'frozen', 'moved', 'done'] as const)(
    'at %s, and run again, loses and doubles nothing',
    async (at) => {
      const { accountId } = account;
      const direction =
        (await pair.a.call('GET', '/account', { key: account.key })).status === 200 ? 'a to b' : 'b to a';
      const [from, to, sql] = direction === 'a to b' ? [pair.a, pair.b, b] : [pair.b, pair.a, a];
      for (let index = 0; index < 5; index += 1) expect((await send(from, account)).status).toBe(200);
      const [before] = await (sql === b ? a : b).query(
        'SELECT count(*)::int AS messages FROM messages WHERE account_id = $1',
        [accountId],
      );
      const killed = pair.move(accountId, direction, {
        onStep: (step) => (step === at ? pair.killMover() : undefined),
      });
      await expect(killed).rejects.toThrow();
      await pair.move(accountId, direction);
      expect((await send(to, account)).status).toBe(200);
      const [after] = await sql.query(
        'SELECT count(*)::int AS messages FROM messages WHERE account_id = $1',
        [accountId],
      );
      expect(after.messages).toBe(before.messages + 1);
      await checkLedger(sql, accountId);
      await eventually(async () => {
        const [row] = await sql.query(
          `SELECT count(*)::int AS open FROM recipients r JOIN messages m ON m.id = r.message_id
           WHERE m.account_id = $1 AND m.scheduled_for IS NULL AND r.status IN ('pending', 'sent')`,
          [accountId],
        );
        return row.open === 0;
      });
      await checkFeed(sql, accountId);
    },
  );

  it('a redirection that fails leaves the account closed, until the move is run again', async () => {
    const other = await pair.a.createAccount();
    const failing = pair.move(other.accountId, 'a to b', {
      redirect: () => Promise.reject(new Error('no proxy')),
    });
    await expect(failing).rejects.toThrow('no proxy');
    expect((await send(pair.a, other)).body.error.code).toBe('account_moving');
    await pair.move(other.accountId, 'a to b');
    expect((await send(pair.b, other)).status).toBe(200);
  });
});

describe('a move that is refused (R504)', () => {
  it('gives the account back if the jobs under way do not end', async () => {
    const other = await pair.a.createAccount();
    await a.query(
      `INSERT INTO job_leases (id, due_at, queue, job)
       SELECT gen_random_uuid(), now() + interval '1 hour', 'webhook', json_build_object('data', json_build_object('webhookId', w.id))
       FROM (SELECT gen_random_uuid() AS id) w`,
    );
    const hook = await pair.a.call('POST', '/developers/webhooks', {
      key: other.key,
      body: { url: 'http://127.0.0.1:4999/hook', events: ['sms.sent'] },
    });
    await a.query(
      `UPDATE job_leases SET job = json_build_object('data', json_build_object('webhookId', $1::text))`,
      [hook.body.webhook.id],
    );
    await expect(pair.move(other.accountId, 'a to b', { drainMs: 100 })).rejects.toThrow(
      /^1 jobs of the account are still under way after 0.1 s/,
    );
    expect((await send(pair.a, other)).status).toBe(200);
    await a.query('DELETE FROM job_leases');
  });

  it('refuses the same database, an unknown account, and one that has left', async () => {
    const nobody = '0190c3e2-5b1f-7c44-9d0e-6c1b6a5f2e11';
    await expect(pair.move(nobody, 'a to b')).rejects.toThrow(`There is no account ${nobody} in this cell.`);
    const other = await pair.a.createAccount();
    await pair.move(other.accountId, 'a to b');
    await expect(pair.move(other.accountId, 'a to b')).rejects.toThrow(/has left this cell already/);
  });
});

describe('a WhatsApp number of an account that moves (R556)', () => {
  const system = { kind: 'system', name: 'test' } as const;
  const assign = (gateway: TestGateway, accountId: string, phoneNumberId: string, number: string) =>
    gateway.parts.operations.senders.assignNumber.run(system, { accountId, phoneNumberId, number });
  const write = async (gateway: TestGateway, { key }: TestAccount) => {
    const body = { to: '+256700123456', type: 'template', template: { name: 'order', language: 'en' } };
    return (await gateway.call('POST', '/developers/whatsapp', { key, body })).body;
  };

  it('moves with it', async () => {
    const owner = await pair.a.createAccount();
    await assign(pair.a, owner.accountId, '3001', '+256771003001');
    await pair.move(owner.accountId, 'a to b');
    const sent = await write(pair.b, owner);
    expect(sent.from).toBe('+256771003001');
    await eventually(async () => {
      const { body } = await pair.b.call('GET', `/developers/messages/${sent.id}`, { key: owner.key });
      return body.status === 'delivered';
    });
    expect(await a.query("SELECT name FROM senders WHERE phone_number_id = '3001'")).toEqual([]);
    const numbersOf = ({ parts }: TestGateway) => parts.routing.health().map(({ name }) => name);
    await eventually(() => numbersOf(pair.b).includes('whatsapp-simulator:3001'));
    await eventually(() => !numbersOf(pair.a).includes('whatsapp-simulator:3001'));
  });

  it('is refused before it begins if another account has the number there', async () => {
    const owner = await pair.a.createAccount();
    const there = await pair.b.createAccount();
    await assign(pair.a, owner.accountId, '3002', '+256771003002');
    await assign(pair.b, there.accountId, '3003', '+256771003002');
    await expect(pair.move(owner.accountId, 'a to b')).rejects.toThrow(
      `The WhatsApp number +256771003002 belongs to the account ${there.accountId} of the other cell.`,
    );
    expect((await write(pair.a, owner)).from).toBe('+256771003002');
  });
});
