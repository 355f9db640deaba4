/** Takes a backup of a running gateway, destroys its data, and restores the backup elsewhere. */
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { zstdDecompress } from 'node:zlib';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { verifyWebhook } from '../../src/domain/webhooks/webhook-signature.ts';
import { eventually } from '../support/eventually.ts';
import {
  buildWorkplace,
  embeddedConnection,
  postmasterPid,
  query,
  quickstartOf,
  runCli,
  type ServerProcess,
  startCli,
  startServer,
  type Workplace,
} from '../support/server-process.ts';
import { type Smsc, startSmsc } from '../support/smsc.ts';
import { UNEVEN } from '../support/uneven.ts';
import { startWebhookReceiver } from '../support/webhook-receiver.ts';

jest.setTimeout(240_000);

const SENDERS = 8;

const closings: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closings.splice(0).reverse()) await close();
});
const closeAtEnd = <T>(opened: T, close: (opened: T) => Promise<unknown>): T => {
  closings.push(() => close(opened));
  return opened;
};

let workplace: Workplace;
beforeAll(async () => {
  workplace = await buildWorkplace();
});
afterAll(() => workplace.remove());

interface Running {
  readonly server: ServerProcess;
  readonly url: string;
  readonly dataDir: string;
  readonly variables: Record<string, string>;
}

async function start(dataDir: string, smsc: Smsc): Promise<Running> {
  const variables = {
    DATA_DIR: dataDir,
    SMS_ROUTES: `*=${smsc.url}`,
    LOG_LEVEL: 'error',
    RATE_LIMIT_PER_MINUTE: '1000000',
    WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
  };
  const server = closeAtEnd(startServer(workplace, variables), (started) => started.kill());
  return { server, url: await server.ready(), dataDir, variables };
}

/** Starts several senders that send without a pause, and record the time of each answer. */
function sendAll(url: string, key: string) {
  const answered: { readonly id: string; readonly at: number }[] = [];
  let isLive = true;
  const senders = Array.from({ length: SENDERS }, async () => {
    while (isLive) {
      const response = await fetch(`${url}/api/v1/developers/sms`, {
        method: 'POST',
        headers: { 'X-Api-Key': key, 'Content-Type': 'application/json' },
        body: JSON.stringify({ to: '+256700123456', message: 'Hello' }),
      }).catch(() => undefined);
      if (response?.status !== 200) continue;
      const { id } = (await response.json()) as { id: string };
      answered.push({ id, at: Date.now() });
    }
  });
  return {
    answered,
    stop: async () => {
      isLive = false;
      await Promise.all(senders);
    },
  };
}

/** Gives the quickstart account so much that the senders of a test never use it up. */
async function quickstartWithBalance({ server, variables }: Running) {
  const quickstart = quickstartOf(server.stdout());
  const command = ['account', 'topup', '--account', quickstart.accountId, '--amount', '1000000000'];
  expect(await runCli(workplace, command, variables)).toMatchObject({ code: 0 });
  return quickstart;
}

async function killEverything({ server, dataDir }: Running): Promise<void> {
  const postgres = await postmasterPid(dataDir);
  process.kill(postgres, 'SIGKILL');
  await server.kill();
}

const COPYING = `SELECT 1 FROM pg_stat_progress_basebackup WHERE phase = 'streaming database files'`;

describe('backup and restore (R255)', () => {
  it('all that was answered while it was copied is there, and nothing leaves before the release', async () => {
    const lost = closeAtEnd(await startSmsc(), (opened) => opened.stop());
    const first = await start(await workplace.directory('first'), lost);
    const { key, accountId } = await quickstartWithBalance(first);
    const load = sendAll(first.url, key);
    await eventually(() => load.answered.length > 300);
    const place = await workplace.directory('backups');
    const to = join(place, 'copy.tar.zst');
    const backingUp = startCli(workplace, ['backup', '--to', to, '--json'], first.variables);
    closings.push(() => backingUp.kill());
    // Stop the backup in the middle of the copy. The senders must go on, because a backup holds no lock that they need.
    const running = await embeddedConnection(first.dataDir);
    const isCopying = async () => (await query(running, COPYING)).length > 0;
    await eventually(isCopying);
    backingUp.child.kill('SIGSTOP');
    const before = load.answered.length;
    await eventually(() => load.answered.length > before + 100);
    expect(await isCopying()).toBe(true);
    backingUp.child.kill('SIGCONT');
    const made = await backingUp.finished;
    expect(made).toMatchObject({ code: 0 });
    const { backup } = JSON.parse(made.stdout);
    await eventually(() => load.answered.some(({ at }) => at > Date.parse(backup.wholeUntil)));
    await load.stop();
    await killEverything(first);
    const whole = load.answered.filter(({ at }) => at < Date.parse(backup.wholeUntil)).map(({ id }) => id);
    expect(whole.length).toBeGreaterThan(300);

    const carrier = closeAtEnd(await startSmsc(), (opened) => opened.stop());
    const dataDir = await workplace.directory('second');
    const variables = { ...first.variables, DATA_DIR: dataDir };
    const restored = await runCli(workplace, ['restore', '--from', to, '--json'], variables);
    expect(restored).toMatchObject({ code: 0 });
    expect(JSON.parse(restored.stdout).restored).toMatchObject({ isMasterKeyRight: null });
    await writeFile(join(dataDir, 'master.key'), await readFile(join(first.dataDir, 'master.key')), {
      mode: 0o600,
    });
    const second = await start(dataDir, carrier);
    await eventually(() => /Nothing is sent since .* restored from a backup/.test(second.server.stdout()));
    const connection = await embeddedConnection(dataDir);
    const found = await query<{ id: string }>(connection, 'SELECT id FROM messages WHERE id = ANY($1)', [
      whole,
    ]);
    expect(found).toHaveLength(whole.length);
    expect(await query(connection, UNEVEN)).toEqual([]);
    const ready = await fetch(`${second.url}/health/ready`);
    expect([ready.status, ((await ready.json()) as { status: string }).status]).toEqual([200, 'held']);
    const refused = await fetch(`${second.url}/api/v1/developers/sms`, {
      method: 'POST',
      headers: { 'X-Api-Key': key, 'Content-Type': 'application/json' },
      body: JSON.stringify({ to: '+256700123456', message: 'Hello' }),
    });
    expect(refused.status).toBe(503);
    const read = await fetch(`${second.url}/api/v1/account`, { headers: { 'X-Api-Key': key } });
    expect(await read.json()).toMatchObject({ id: accountId });
    for (const command of [['audit', 'verify'], ['doctor']]) {
      const { stdout, stderr } = await runCli(workplace, [...command, '--json'], second.variables);
      if (command[0] === 'audit') expect(JSON.parse(stdout)).toMatchObject({ isIntact: true });
      else {
        const failed = JSON.parse(stdout).checks.filter(({ ok }: { ok: boolean }) => !ok);
        // Checks of carriers may fail, because no gateway is running. Checks of the data must succeed.
        expect([stderr, failed.map(({ check }: { check: string }) => check)]).toEqual([
          expect.stringContaining('sending'),
          ['sending'],
        ]);
      }
    }
    expect(carrier.received).toHaveLength(0);

    const asked = await runCli(workplace, ['release', '--json'], second.variables);
    const { unknown } = JSON.parse(asked.stdout);
    if (unknown.recipients > 0) {
      expect(asked.code).toBe(1);
      const marked = await runCli(workplace, ['release', '--mark', '--json'], second.variables);
      expect(JSON.parse(marked.stdout)).toMatchObject({ marked: unknown.recipients, isReleased: true });
    } else expect(asked.code).toBe(0);
    await eventually(async () => {
      const sent = await fetch(`${second.url}/api/v1/developers/sms`, {
        method: 'POST',
        headers: { 'X-Api-Key': key, 'Content-Type': 'application/json' },
        body: JSON.stringify({ to: '+256700999888', message: 'After the release' }),
      });
      return sent.status === 200;
    });
    await eventually(() => carrier.received.length === 1);
    expect(await query(connection, UNEVEN)).toEqual([]);
  });

  it('has no master key in the copy unless asked, and with the key the stored secrets work again', async () => {
    const smsc = closeAtEnd(await startSmsc(), (opened) => opened.stop());
    const receiver = closeAtEnd(await startWebhookReceiver(), (opened) => opened.stop());
    const first = await start(await workplace.directory('first'), smsc);
    const { key } = quickstartOf(first.server.stdout());
    const post = (url: string, path: string, body: object) =>
      fetch(`${url}/api/v1/developers/${path}`, {
        method: 'POST',
        headers: { 'X-Api-Key': key, 'Content-Type': 'application/json' },
        body: JSON.stringify(body),
      });
    const registered = await post(first.url, 'webhooks', { url: receiver.url, events: ['sms.sent'] });
    expect(registered.status).toBe(201);
    const { secret } = (await registered.json()) as { secret: string };
    const masterKey = (await readFile(join(first.dataDir, 'master.key'), 'utf8')).trim();
    const place = await workplace.directory('backups');
    const [without = '', withKeys = ''] = ['without.tar.zst', 'with.tar.zst'].map((name) =>
      join(place, name),
    );
    for (const args of [[without], [withKeys, '--with-keys']]) {
      const made = await runCli(workplace, ['backup', '--fast', '--to', ...args], first.variables);
      expect(made).toMatchObject({ code: 0 });
    }
    await killEverything(first);
    const holdsKey = async (file: string) => {
      const content = await promisify(zstdDecompress)(await readFile(file));
      return content.includes(masterKey) || content.includes(Buffer.from(masterKey, 'base64'));
    };
    expect([await holdsKey(without), await holdsKey(withKeys)]).toEqual([false, true]);

    const dataDir = await workplace.directory('second');
    const variables = { ...first.variables, DATA_DIR: dataDir };
    const restored = await runCli(workplace, ['restore', '--from', without], variables);
    expect(restored).toMatchObject({ code: 0 });
    await writeFile(join(dataDir, 'master.key'), masterKey, { mode: 0o600 });
    const second = await start(dataDir, smsc);
    expect(await runCli(workplace, ['release'], variables)).toMatchObject({ code: 0 });
    await eventually(async () => {
      const sent = await post(second.url, 'sms', { to: '+256700999888', message: 'After the release' });
      return sent.status === 200;
    });
    const hook = await receiver.waitFor(() => true);
    const signature = String(hook.headers['x-service-signature']);
    expect(verifyWebhook(secret, signature, hook.raw, hook.at / 1000)).toBe(true);
  });

  it('of a continuous backup, what was answered until a time is there, and nothing later (R351)', async () => {
    const smsc = closeAtEnd(await startSmsc(), (opened) => opened.stop());
    const first = await start(await workplace.directory('first'), smsc);
    const load = sendAll(first.url, (await quickstartWithBalance(first)).key);
    const to = await workplace.directory('backups');
    const backup = closeAtEnd(
      startCli(workplace, ['backup', '--to', to, '--continuous'], first.variables),
      (started) => started.kill(),
    );
    await eventually(() => /^backup .*base-/m.test(backup.stderr()));
    const count = load.answered.length;
    await eventually(() => load.answered.length > count + 300);
    // Also the last messages before the time are there: the sender knows of them before the time is read.
    const whole = load.answered.map(({ id }) => id);
    const connection = await embeddedConnection(first.dataDir);
    const [{ until } = { until: '' }] = await query<{ until: string }>(
      connection,
      `SELECT to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS until`,
    );
    const later = load.answered.length;
    await eventually(() => load.answered.length > later + 300);
    const isKept = `SELECT 1 FROM pg_stat_replication WHERE flush_lsn >= $1::pg_lsn`;
    const [{ lsn } = { lsn: '' }] = await query<{ lsn: string }>(
      connection,
      'SELECT pg_current_wal_lsn()::text AS lsn',
    );
    await eventually(async () => (await query(connection, isKept, [lsn])).length > 0);
    await load.stop();
    await killEverything(first);
    await backup.kill();

    const dataDir = await workplace.directory('second');
    const variables = { ...first.variables, DATA_DIR: dataDir };
    const restored = await runCli(
      workplace,
      ['restore', '--from', to, '--until', until, '--json'],
      variables,
    );
    expect(restored).toMatchObject({ code: 0 });
    await cp(join(first.dataDir, 'master.key'), join(dataDir, 'master.key'));
    const second = await start(dataDir, smsc);
    await eventually(() => /Nothing is sent since .* restored from a backup/.test(second.server.stdout()));
    const copy = await embeddedConnection(dataDir);
    const found = await query<{ id: string }>(copy, 'SELECT id FROM messages');
    const there = new Set(found.map(({ id }) => id));
    expect(whole.filter((id) => !there.has(id))).toEqual([]);
    expect(await query(copy, 'SELECT id FROM messages WHERE created_at > $1::timestamptz', [until])).toEqual(
      [],
    );
    expect(await query(copy, UNEVEN)).toEqual([]);
    const { url } = second;
    expect(await (await fetch(`${url}/health/ready`)).json()).toMatchObject({ status: 'held' });
    const beyond = await runCli(
      workplace,
      ['restore', '--from', to, '--until', new Date(Date.now() + 3_600_000).toISOString()],
      { ...first.variables, DATA_DIR: await workplace.directory('third') },
    );
    expect(beyond).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^The log beside the backup ends before /),
    });
  });

  it('refuses what is damaged, cut off or in use, and leaves nothing behind', async () => {
    const smsc = closeAtEnd(await startSmsc(), (opened) => opened.stop());
    const running = await start(await workplace.directory('whole'), smsc);
    const place = await mkdtemp(join(tmpdir(), 'gateway-test-backups-'));
    closings.push(() => rm(place, { recursive: true }));
    const made = await runCli(
      workplace,
      ['backup', '--to', place, '--with-keys', '--json'],
      running.variables,
    );
    const { file } = JSON.parse(made.stdout).backup;
    expect(await readdir(place)).toEqual([file.split('/').at(-1)]);
    const check = (path: string) =>
      runCli(workplace, ['restore', '--from', path, '--check'], running.variables);
    expect(await check(place)).toMatchObject({ code: 0, stdout: expect.stringContaining(' is whole: ') });

    const content = await readFile(file);
    const damaged = join(place, 'damaged.tar.zst');
    const middle = Math.floor(content.length / 2);
    await writeFile(
      damaged,
      Buffer.concat([
        content.subarray(0, middle),
        Buffer.from([content[middle]! ^ 1]),
        content.subarray(middle + 1),
      ]),
    );
    const cut = join(place, 'cut.tar.zst');
    await writeFile(cut, content.subarray(0, middle));
    const target = await workplace.directory('target');
    for (const path of [damaged, cut]) {
      const refused = await runCli(workplace, ['restore', '--from', path], {
        ...running.variables,
        DATA_DIR: target,
      });
      expect(refused).toMatchObject({
        code: 1,
        stderr: expect.stringMatching(/damaged|cut off|unexpected end/),
      });
      expect((await readdir(target)).filter((name) => name.startsWith('postgres'))).toEqual([]);
    }
    const used = await runCli(workplace, ['restore', '--from', file], running.variables);
    expect(used).toMatchObject({ code: 1, stderr: expect.stringMatching(/is in use: restore into another/) });

    const { isMasterKeyRight } = JSON.parse(
      (
        await runCli(workplace, ['restore', '--from', file, '--json'], {
          ...running.variables,
          DATA_DIR: target,
        })
      ).stdout,
    ).restored;
    expect(isMasterKeyRight).toBe(true);
    expect(await readFile(join(target, 'master.key'), 'utf8')).toBe(
      await readFile(join(running.dataDir, 'master.key'), 'utf8'),
    );
  });
});
