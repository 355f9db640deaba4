import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import express from 'express';
import { createRest } from '../../src/rest/router.ts';
import { PgIntake } from '../../src/storage/intake/intake.ts';
import { Sql } from '../../src/storage/postgres/sql.ts';
import type { JobSinkFor } from '../../src/storage/postgres/unit-of-work.ts';
import { silentLogger, withKnex } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { type Answer, startTestGateway, type TestGateway } from '../support/gateway.ts';
import { preparedMessage } from '../support/prepared-message.ts';
import { startSmsc } from '../support/smsc.ts';
import { checkLedger, openSql, type TestSql } from '../support/sql.ts';

/** Limits of src/compose.ts: how many recipients may wait, and how many one transaction takes. */
const WAITING = 20_000;
const BATCH = 1_000;

const opened: { stop(): Promise<unknown> }[] = [];
afterAll(async () => {
  for (const each of opened.reverse()) await each.stop();
});

describe('a database slower than the senders', () => {
  let gateway: TestGateway;
  let sql: TestSql;
  beforeAll(async () => {
    gateway = await startTestGateway({ ROLES: 'api' });
    opened.push(gateway);
    sql = await openSql(gateway.database);
    opened.push({ stop: () => sql.close() });
  });
  /** Locks the account, so that writes wait as they do for a slow database. Returns a function that unlocks it. */
  const stall = async (accountId: string) => {
    const holder = await openSql(gateway.database);
    opened.push({ stop: () => holder.close() });
    await holder.query('BEGIN');
    await holder.query('SELECT FROM accounts WHERE id = $1 FOR UPDATE', [accountId]);
    return () => holder.query('COMMIT');
  };
  /**
   * Sends all requests while the account is locked. Unlocks it when all requests except `accepted` of them are
   * answered.
   */
  const sendDuringStall = async (
    accountId: string,
    count: number,
    accepted: number,
    send: () => Promise<Answer>,
  ) => {
    const goOn = await stall(accountId);
    const answered: Answer[] = [];
    const sent = Array.from({ length: count }, async () => {
      const answer = await send();
      answered.push(answer);
      return answer;
    });
    await eventually(() => answered.length === count - accepted);
    const statuses = answered.map(({ status }) => status);
    await goOn();
    return { answers: await Promise.all(sent), statuses };
  };
  const check = async (accountId: string, answers: readonly Answer[]) => {
    const accepted = answers.filter(({ status }) => status === 200).map(({ body }) => body.id as string);
    const rows = await sql.query('SELECT id FROM messages WHERE account_id = $1 ORDER BY id', [accountId]);
    expect(rows.map(({ id }) => id)).toEqual(accepted.sort());
    const charges = await sql.query(
      `SELECT message_id FROM ledger_entries WHERE account_id = $1 AND kind = 'charge' ORDER BY message_id`,
      [accountId],
    );
    return { accepted, charged: charges.map(({ message_id }) => message_id) };
  };

  it('beyond the limit sends are refused at once with Retry-After, uncharged; every message answered 200 is stored', async () => {
    const { key, accountId } = await gateway.createAccount(10_000_000);
    const to = Array.from({ length: BATCH }, (_, index) => `+2567001${String(index).padStart(5, '0')}`).join(
      ',',
    );
    // The number of requests that fit: the waiting recipients and one batch in progress, in requests of `BATCH`
    // recipients.
    const fitting = (WAITING + BATCH) / BATCH;
    const { answers, statuses } = await sendDuringStall(accountId, fitting + 9, fitting, () =>
      gateway.call('POST', '/developers/sms', { key, body: { to, message: 'Hello' } }),
    );
    const refused = answers.filter(({ status }) => status === 503);
    expect(statuses).toEqual(Array(9).fill(503));
    for (const { body, headers } of refused) {
      expect(body.error.code).toBe('service_unavailable');
      expect(Number(headers.get('Retry-After'))).toBeGreaterThan(0);
    }
    const { accepted, charged } = await check(accountId, answers);
    expect(accepted).toHaveLength(fitting);
    expect(refused).toHaveLength(9);
    expect(charged).toEqual(accepted);
    await checkLedger(sql, accountId);
    // The gateway accepts messages again when no recipient waits any more.
    const later = await gateway.call('POST', '/developers/sms', {
      key,
      body: { to: '0700123456', message: 'Hello' },
    });
    expect(later.status).toBe(200);
  });

  it('a few emails of megabytes reach the limit like many messages', async () => {
    const { accountId } = await gateway.createAccount();
    const prepared = (characters: number) =>
      preparedMessage(accountId, {
        channel: 'email',
        from: 'shop@example.com',
        payload: { subject: 'Large', replyTo: null, cc: [], bcc: [], headers: {} },
        bulk: { text: 'Hello', html: null, attachments: [{ content: 'x'.repeat(characters) }] },
        recipients: [{ address: 'ann@example.com', costMinor: 0, routeKey: 'email', heldUntil: null }],
        costMinor: 0,
        unitPriceMinor: 0,
      });
    await withKnex(gateway.database.connection, async (knex) => {
      const jobsFor: JobSinkFor = (transaction) => gateway.parts.queue.sinkFor(transaction);
      const intake = new PgIntake(new Sql(knex), jobsFor, {
        maxBatchRecipients: 10,
        maxWaitingRecipients: 20,
      });
      const goOn = await stall(accountId);
      const first = intake.accept(prepared(40_960));
      const waitsForLock = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
      await eventually(async () => (await sql.query(waitsForLock)).length === 1);
      // A recipient counts 1, and this attachment counts 8. So two messages count 18 of the limit of 20.
      const second = intake.accept(prepared(18_000));
      const third = intake.accept(prepared(18_000));
      await expect(intake.accept(prepared(18_000))).rejects.toMatchObject({ code: 'service_unavailable' });
      const small = intake.accept(prepared(0));
      await goOn();
      const answers = await Promise.all([first, second, third, small]);
      expect(answers.map(({ isReplay }) => isReplay)).toEqual(Array(4).fill(false));
    });
    const rows = await sql.query('SELECT 1 FROM messages WHERE account_id = $1', [accountId]);
    expect(rows).toHaveLength(4);
  });
});

describe('more requests than the gateway can answer', () => {
  /** Starts a REST API on a server that allows three concurrent requests. */
  const startNarrow = async (clock?: { now(): Date }) => {
    const gateway = await startTestGateway({ ROLES: 'api' });
    opened.push(gateway);
    const rest = createRest({
      ...gateway.parts,
      ...(clock && { clock }),
      logger: silentLogger,
      always: {},
      maxConcurrentRequests: 3,
    });
    const server = express().use('/api/v1', rest.router).listen(0, '127.0.0.1');
    opened.push({ stop: async () => server.closeAllConnections() ?? server.close() });
    await once(server, 'listening');
    return {
      gateway,
      url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/v1/developers/sms`,
    };
  };

  it('the surplus is refused at once, before it is counted or accepted; admitted requests are answered', async () => {
    const databaseTime = new Date('2031-05-06T07:08:09.500Z');
    const { gateway, url } = await startNarrow({ now: () => databaseTime });
    const sql = await openSql(gateway.database);
    opened.push({ stop: () => sql.close() });
    const { key, accountId } = await gateway.createAccount();
    const answers: Response[] = [];
    const send = async () => {
      const body = JSON.stringify({ to: '+256700123456', message: 'Hello' });
      const headers = { 'X-Api-Key': key, 'Content-Type': 'application/json' };
      answers.push(await fetch(url, { method: 'POST', headers, body }));
    };
    await sql.query('BEGIN');
    await sql.query('SELECT FROM accounts WHERE id = $1 FOR UPDATE', [accountId]);
    const sent = Array.from({ length: 10 }, send);
    await eventually(() => answers.length === 7);
    expect(answers.map(({ status }) => status)).toEqual(Array(7).fill(503));
    const refused = answers.at(-1);
    expect(Number(refused?.headers.get('Retry-After'))).toBe(1);
    // The reset time is in the database's time, as in every other answer (R222).
    expect(refused?.headers.get('X-RateLimit-Reset')).toBe(
      String(Math.floor(databaseTime.getTime() / 1000) + 1),
    );
    expect(await refused?.json()).toMatchObject({ error: { code: 'service_unavailable' } });
    // An unknown URL path is refused, too. An answer of 404 would query the database for the sender's rate limit.
    expect((await fetch(`${url}/nowhere`)).status).toBe(503);
    await sql.query('COMMIT');
    await Promise.all(sent);
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(3);
    expect((await fetch(`${url}/nowhere`)).status).toBe(401);
    expect(await sql.query('SELECT FROM messages WHERE account_id = $1', [accountId])).toHaveLength(3);
    await checkLedger(sql, accountId);
    await send();
    expect(answers.at(-1)?.status).toBe(200);
  });

  it('a client that sends its body slowly takes no slot, and is answered in the end', async () => {
    const { gateway, url } = await startNarrow();
    const { key, accountId } = await gateway.createAccount();
    const signing = await gateway.createKey(accountId, { enableHmac: true });
    const body = JSON.stringify({ to: '+256700123456', message: 'Hello' });
    const headers = { 'Content-Type': 'application/json', 'Content-Length': String(body.length) };
    const atOnce = { method: 'POST', headers: { ...headers, 'X-Api-Key': key }, body };
    const slow = [];
    for (const slowKey of [key, key, key, signing.key, signing.key, signing.key]) {
      const request = httpRequest(url, { method: 'POST', headers: { ...headers, 'X-Api-Key': slowKey } });
      request.write(body.slice(0, 10));
      slow.push({ request, answered: once(request, 'response') });
      expect((await fetch(url, atOnce)).status).toBe(200);
    }
    const statuses: (number | undefined)[] = [];
    // Three at a time, which is as many as this gateway answers at once.
    for (const three of [slow.slice(0, 3), slow.slice(3)]) {
      for (const { request } of three) request.end(body.slice(10));
      const answers = await Promise.all(three.map(({ answered }) => answered));
      statuses.push(...answers.map(([answer]) => answer.resume().statusCode));
    }
    expect(statuses).toEqual([200, 200, 200, 401, 401, 401]);
  });
});

describe('a carrier slower than the senders', () => {
  it('jobs wait in the queue, not in memory; the window limits what is in flight; nothing is lost', async () => {
    // The carrier answers only when 5 messages wait for an answer. The window is 4, so it answers none until the test
    // changes this.
    const smsc = await startSmsc({ answersReversedBy: 5 });
    opened.push(smsc);
    const gateway = await startTestGateway({ SMS_ROUTES: `*=${smsc.url}?window=4` });
    opened.push(gateway);
    const sql = await openSql(gateway.database);
    opened.push({ stop: () => sql.close() });
    const { key, accountId } = await gateway.createAccount();
    const jobs = async () => {
      const rows = await sql.query(
        `SELECT what, count(*)::int AS count FROM (
           SELECT CASE state WHEN 'active' THEN 'held' ELSE 'waiting' END AS what FROM pgboss.job
           WHERE name = 'submit'
           UNION ALL SELECT 'held' FROM job_leases WHERE queue = 'submit') job GROUP BY 1`,
      );
      return new Map<string, number>(rows.map(({ what, count }) => [what, count]));
    };
    const count = 120;
    const ids: string[] = [];
    let mostHeld = 0;
    for (let index = 0; index < count; index++) {
      const body = { to: `+2567001${String(index).padStart(5, '0')}`, message: `number ${index}` };
      const answer = await gateway.call('POST', '/developers/sms', { key, body });
      expect(answer.status).toBe(200);
      ids.push(answer.body.id);
      mostHeld = Math.max(mostHeld, (await jobs()).get('held') ?? 0);
    }
    // Jobs that the process holds, whether fetched or handed over. A process runs at most 8 jobs of a route. It holds
    // up to 64 if the others only wait for the carrier. With 63 held, a fetch may add 8 (src/workers/start-workers.ts,
    // src/queue/job-slots.ts).
    expect(mostHeld).toBeGreaterThan(4);
    expect(mostHeld).toBeLessThan(72);
    expect((await jobs()).get('waiting')).toBeGreaterThan(20);

    smsc.behave({ answersReversedBy: 1 });
    await eventually(async () => {
      const rows = await sql.query(`SELECT 1 FROM recipients WHERE account_id = $1 AND status = 'sent'`, [
        accountId,
      ]);
      return rows.length === count;
    });
    expect(smsc.maxUnanswered).toBeLessThanOrEqual(4);
    expect(smsc.received).toHaveLength(count);
    expect(new Set(ids).size).toBe(count);
    await eventually(async () => (await jobs()).size === 0);
    await checkLedger(sql, accountId);
  });
});
