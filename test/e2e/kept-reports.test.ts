/** Tests delivery reports during an outage of PostgreSQL. The SMSC never sends a report again. */

import { createHmac } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import {
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from '../../src/storage/embedded-postgres/embedded-postgres.ts';
import { databaseUrl, silentLogger } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/free-port.ts';
import {
  buildWorkplace,
  query,
  quickstartOf,
  type ServerProcess,
  startedDirectory,
  startServer,
  type Workplace,
} from '../support/server-process.ts';
import { type Smsc, startSmsc } from '../support/smsc.ts';

// Time limit of a test in ms. Each test starts processes, which takes long on a busy machine.
jest.setTimeout(180_000);

const REPORTS = 300;
const RECIPIENTS = 20;
const ESME_ROK = 0;
const ESME_RX_T_APPN = 0x64;

let workplace: Workplace;
beforeAll(async () => {
  workplace = await buildWorkplace();
});
afterAll(() => workplace.remove());

const closings: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closings.splice(0).reverse()) await close();
});

/** Starts a PostgreSQL that can be stopped and started again on the same port. It has the quickstart account. */
async function startPostgres() {
  const { dataDir, stdout } = await startedDirectory(workplace);
  let running: EmbeddedPostgres | undefined;
  const start = async () => {
    running = await startEmbeddedPostgres({ dataDir, database: 'gateway', logger: silentLogger });
    return running.connection;
  };
  const stop = async () => {
    await running?.stop();
    running = undefined;
  };
  const connection = await start();
  closings.push(stop);
  const { key } = quickstartOf(stdout);
  return { connection, url: databaseUrl(connection), dataDir, key, start, stop };
}

/** Starts a gateway on that PostgreSQL. */
async function startGateway(
  { url: databaseUrl, dataDir }: Awaited<ReturnType<typeof startPostgres>>,
  variables: Record<string, string>,
) {
  const settings: Record<string, string> = {
    DATA_DIR: dataDir,
    DATABASE_URL: databaseUrl,
    RATE_LIMIT_PER_MINUTE: '1000000',
    LOG_LEVEL: 'info',
    ...variables,
  };
  const start = () => {
    const started = startServer(workplace, settings);
    closings.push(() => started.kill());
    return started;
  };
  const server = start();
  const url = await server.ready();
  return {
    server,
    url,
    start,
    spool: join(dataDir, 'reports'),
  };
}

/** Submits 300 messages to the SMSC, which sends no reports yet. */
async function sendAll(url: string, key: string, smsc: Smsc): Promise<void> {
  for (let from = 0; from < REPORTS; from += RECIPIENTS) {
    const numbers = Array.from(
      { length: RECIPIENTS },
      (_, n) => `+2567001${String(from + n).padStart(5, '0')}`,
    );
    const response = await fetch(`${url}/api/v1/developers/sms`, {
      method: 'POST',
      headers: { 'X-Api-Key': key, 'Content-Type': 'application/json' },
      body: JSON.stringify({ to: numbers.join(','), message: 'Hello' }),
    });
    expect(response.status).toBe(200);
  }
  await eventually(() => smsc.received.length === REPORTS);
}

/** Returns the number of recipients for each status. */
async function statuses(connection: EmbeddedPostgres['connection']): Promise<Record<string, number>> {
  const sql = 'SELECT status, count(*)::int AS count FROM recipients GROUP BY status';
  const rows = await query<{ status: string; count: number }>(connection, sql);
  return Object.fromEntries(rows.map(({ status, count }) => [status, count]));
}

const all = (status: string) => ({ [status]: REPORTS });

function reportAll(smsc: Smsc): void {
  for (const { sid, destination, source } of smsc.received) {
    smsc.report(sid, destination.address, source.address, { form: 'text' });
  }
}

const answers = (smsc: Smsc) => smsc.reports.map((report) => report.answers);
const lines = (server: ServerProcess, text: string) =>
  server
    .stderr()
    .split('\n')
    .filter((line) => line.includes(text)).length;

describe('delivery reports that arrive while PostgreSQL is stopped', () => {
  async function startAll(variables: Record<string, string> = {}) {
    const postgres = await startPostgres();
    const smsc = await startSmsc({ repeatsReports: false });
    closings.push(() => smsc.stop());
    const gateway = await startGateway(postgres, { SMS_ROUTES: `*=${smsc.url}?window=100`, ...variables });
    await sendAll(gateway.url, postgres.key, smsc);
    await eventually(async () => (await statuses(postgres.connection)).sent === REPORTS);
    await postgres.stop();
    return { postgres, smsc, gateway };
  }

  it('are all applied after it is back, although the SMSC repeats none', async () => {
    const { postgres, smsc, gateway } = await startAll();
    reportAll(smsc);
    await eventually(() => answers(smsc).every((each) => each.length === 1));
    expect(answers(smsc)).toEqual(Array.from({ length: REPORTS }, () => [ESME_ROK]));
    const reported = new Date();
    expect((await readdir(gateway.spool)).length).toBeGreaterThan(0);
    await postgres.start();
    await eventually(async () => (await statuses(postgres.connection)).delivered === REPORTS);
    expect(await statuses(postgres.connection)).toEqual(all('delivered'));
    // The stored reports have kept the time of their arrival. Each was applied once.
    const [late] = await query<{ count: number; notes: number }>(
      postgres.connection,
      `SELECT count(*) FILTER (WHERE delivered_at > $1)::int AS count,
         (SELECT count(*)::int FROM timeline_notes WHERE detail LIKE '%late delivery report%') AS notes
       FROM recipients`,
      [reported],
    );
    expect(late).toEqual({ count: 0, notes: 0 });
    await eventually(async () => (await readdir(gateway.spool)).length === 0);
    expect(await query(postgres.connection, 'SELECT FROM report_spools')).toEqual([]);
    await eventually(() => lines(gateway.server, 'the delivery reports on disk are applied') === 1);
    expect(lines(gateway.server, 'delivery reports are kept on disk')).toBe(1);
    expect(gateway.server.stderr()).not.toMatch(/2567001\d{5}/);
  });

  it('are applied by the next start when the gateway is killed meanwhile', async () => {
    const { postgres, smsc, gateway } = await startAll();
    reportAll(smsc);
    await eventually(() => answers(smsc).every((each) => each[0] === ESME_ROK));
    await gateway.server.kill();
    await postgres.start();
    expect(await statuses(postgres.connection)).toEqual(all('sent'));
    const next = gateway.start();
    await next.ready();
    await eventually(async () => (await statuses(postgres.connection)).delivered === REPORTS);
    await eventually(async () => (await readdir(gateway.spool)).length === 0);
    expect(lines(next, 'took over delivery reports')).toBe(1);
  });

  it('get a temporary error when the spool is full', async () => {
    const { postgres, smsc } = await startAll({ REPORT_SPOOL_MB: '0' });
    smsc.behave({ repeatsReports: true });
    reportAll(smsc);
    await eventually(() => answers(smsc).every((each) => each.length > 0));
    expect(new Set(answers(smsc).map(([first]) => first))).toEqual(new Set([ESME_RX_T_APPN]));
    await postgres.start();
    await eventually(async () => (await statuses(postgres.connection)).delivered === REPORTS);
  });
});

describe('callbacks of carriers that arrive while PostgreSQL is stopped (R211)', () => {
  it('are answered 200 and applied after it is back, when their sender is verified', async () => {
    const postgres = await startPostgres();
    const port = await freePort();
    const publicUrl = `http://127.0.0.1:${port}`;
    const gateway = await startGateway(postgres, {
      PORT: String(port),
      SMS_ROUTES: '*=twilio://AC1:token@127.0.0.1:1',
      PUBLIC_URL: publicUrl,
      WHATSAPP_APP_SECRET: 'shh',
    });
    const call = (path: string, body: string, headers: Record<string, string>) =>
      fetch(gateway.url + path, { method: 'POST', body, headers });
    const twilio = () => {
      const form = { AccountSid: 'AC1', MessageSid: 'SM1', MessageStatus: 'delivered', To: '+256700123456' };
      const signed = Object.keys(form)
        .sort()
        .reduce(
          (text, name) => text + name + form[name as keyof typeof form],
          `${publicUrl}/callbacks/sms/twilio`,
        );
      return call('/callbacks/sms/twilio', new URLSearchParams(form).toString(), {
        'content-type': 'application/x-www-form-urlencoded',
        'x-twilio-signature': createHmac('sha1', 'token').update(signed).digest('base64'),
      });
    };
    const whatsApp = (value: object) => {
      const body = JSON.stringify({ entry: [{ changes: [{ value }] }] });
      const signature = createHmac('sha256', 'shh').update(body).digest('hex');
      return call('/callbacks/whatsapp', body, { 'x-hub-signature-256': `sha256=${signature}` });
    };
    const inbound = {
      messages: [
        { id: 'wamid.2', from: '256700123456', timestamp: '1790000000', type: 'text', text: { body: 'Hi' } },
      ],
    };
    await postgres.stop();
    expect((await twilio()).status).toBe(200);
    expect((await whatsApp({ statuses: [{ id: 'wamid.1', status: 'delivered' }] })).status).toBe(200);
    // Inbound messages are not written to the spool, because the platform repeats them for days.
    expect((await whatsApp(inbound)).status).toBe(503);
    await postgres.start();
    const kept = 'SELECT sid FROM unmatched_reports ORDER BY received_at, sid';
    await eventually(async () => (await query(postgres.connection, kept)).length === 2);
    expect(await query(postgres.connection, kept)).toEqual([{ sid: 'SM1' }, { sid: 'wamid.1' }]);
    await eventually(async () => (await whatsApp(inbound)).status === 200);
  });
});
