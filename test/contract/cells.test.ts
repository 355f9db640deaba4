import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { runCliHere } from '../support/cli.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { openSql } from '../support/sql.ts';

const CELLS = {
  a: { host: 'a.sms.example.com', slots: '000-0ff', servers: ['127.0.0.1:3001'] },
  b: { host: 'b.sms.example.com', slots: '100-fff', servers: ['127.0.0.1:3002'] },
};

describe('a cell', () => {
  let gateway: TestGateway;
  let path: string;
  let directory: string;
  beforeAll(async () => {
    gateway = await startTestGateway({ CELL_SLOTS: '000-0ff' });
    path = await mkdtemp(join(tmpdir(), 'gateway-cells-'));
    directory = join(path, 'cells.json');
  });
  afterAll(async () => {
    await gateway.stop();
    await rm(path, { recursive: true });
  });
  const cli = (...args: string[]) =>
    runCliHere(args, {
      DATABASE_URL: gateway.database.url,
      DATA_DIR: gateway.dataDir,
      CELL_SLOTS: '000-0ff',
    });
  const listed = async () => JSON.parse(await readFile(directory, 'utf8')).keys;

  it('issues keys that begin with a slot of it (R500)', async () => {
    const { accountId } = await gateway.createAccount();
    const made = [await gateway.createKey(accountId, {}), await gateway.createKey(accountId, {})];
    const slots = made.map(({ keyId }) => keyId.slice(0, 3));
    expect(slots[0]).toMatch(/^0/);
    expect(slots[1]).toBe(slots[0]);
    expect((await gateway.call('GET', '/account', { key: made[0]?.key ?? '' })).status).toBe(200);
  });

  it('lists the keys that do not begin with a slot of it (R501)', async () => {
    const { accountId } = await gateway.createAccount();
    const { keyId } = await gateway.createKey(accountId, {});
    const old = `fff${keyId.slice(3)}`;
    await using sql = await openSql(gateway.database);
    await sql.query(
      `INSERT INTO api_keys (key_id, account_id, name, secret_hash, scopes, environment, created_by, created_at, issued_by)
       SELECT $1, account_id, name, secret_hash, scopes, environment, created_by, created_at, issued_by
       FROM api_keys WHERE key_id = $2`,
      [old, keyId],
    );
    await writeFile(directory, JSON.stringify({ cells: CELLS, keys: { [keyId]: 'a' } }));
    const answer = await cli('cells', 'keys', '--directory', directory, '--cell', 'a');
    expect(answer).toEqual({ code: 0, stdout: `1 keys of a are listed in ${directory}\n`, stderr: '' });
    expect(await listed()).toEqual({ [old]: 'a' });
  });

  it('leaves the line of a key whose account is about to leave, and drops that of one that has left (R517)', async () => {
    const { accountId } = await gateway.createAccount();
    const { keyId } = await gateway.createKey(accountId, {});
    await using sql = await openSql(gateway.database);
    const linesWhile = async (moving: string | null, line: string) => {
      await sql.query('UPDATE accounts SET moving = $2 WHERE id = $1', [accountId, moving]);
      await writeFile(directory, JSON.stringify({ cells: CELLS, keys: { [keyId]: line } }));
      expect((await cli('cells', 'keys', '--directory', directory, '--cell', 'a')).code).toBe(0);
      return (await listed())[keyId];
    };
    // Its move may have listed it already, or not yet.
    expect(await linesWhile('closed', 'b')).toBe('b');
    expect(await linesWhile('closed', 'a')).toBe('a');
    expect(await linesWhile(null, 'b')).toBeUndefined();
    expect(await linesWhile('moved', 'a')).toBeUndefined();
  });

  it('two commands that change the directory at once lose nothing (R517)', async () => {
    await using other = await startTestGateway({ CELL_SLOTS: '000-0ff' });
    const { accountId } = await other.createAccount();
    const { keyId } = await other.createKey(accountId, {});
    const ofB = (...args: string[]) =>
      runCliHere(args, {
        DATABASE_URL: other.database.url,
        DATA_DIR: other.dataDir,
        CELL_SLOTS: '100-fff',
      });
    await writeFile(directory, JSON.stringify({ cells: CELLS }));
    await cli('cells', 'keys', '--directory', directory, '--cell', 'a');
    const ofA = await listed();
    for (let round = 0; round < 5; round += 1) {
      await writeFile(directory, JSON.stringify({ cells: CELLS }));
      const ended = await Promise.all([
        cli('cells', 'keys', '--directory', directory, '--cell', 'a'),
        ofB('cells', 'keys', '--directory', directory, '--cell', 'b'),
      ]);
      expect(ended.map(({ stderr }) => stderr)).toEqual(['', '']);
      expect(await listed()).toMatchObject({ ...ofA, [keyId]: 'b' });
    }
  });

  it('refuses to list keys with the settings of another cell (R571)', async () => {
    const text = JSON.stringify({ cells: CELLS });
    await writeFile(directory, text);
    expect(await cli('cells', 'keys', '--directory', directory, '--cell', 'b')).toEqual({
      code: 1,
      stdout: '',
      stderr:
        `CELL_SLOTS is 000-0ff, but cell b has 100-fff in ${directory}: run the command with the settings of cell b, ` +
        'in which CELL_SLOTS is the same as in the file.\n',
    });
    expect(await readFile(directory, 'utf8')).toBe(text);
  });

  it('says what is wrong with a directory (R501)', async () => {
    await writeFile(directory, JSON.stringify({ cells: { a: CELLS.a } }));
    expect(await cli('cells', 'haproxy', '--directory', directory, '--to', path)).toEqual({
      code: 1,
      stdout: '',
      stderr: `${directory} is no directory of cells: No cell has the slots 100, 101, 102, 103, 104 and 3835 more.\n`,
    });
    const missing = await cli('cells', 'haproxy', '--directory', join(path, 'none.json'), '--to', path);
    expect(missing.stderr).toMatch(/^The directory of cells cannot be read: ENOENT/);
  });
});
