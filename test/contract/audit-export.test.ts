import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { CliRunner } from '../../src/cli/command.ts';
import type { CliAnswer } from '../../src/cli/output.ts';
import { createProgram } from '../../src/cli/program.ts';
import { withKnex } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { codesOf, graphql, inviteMember, signIn } from '../support/graphql.ts';

const FIREFOX = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';
const FROM = { address: '192.0.2.7', device: 'Firefox on Linux' };

describe('the audit log of signing in', () => {
  let gateway: TestGateway;
  let account: TestAccount;
  let directory: string;
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'audit-export-'));
    gateway = await startTestGateway({ TRUST_PROXY: '127.0.0.0/8,::1/128' });
    account = await gateway.createAccount();
  });
  afterAll(async () => {
    await gateway?.stop();
    await rm(directory, { recursive: true, force: true });
  });

  /** Runs a command, and returns what it printed. A command that needs a gateway uses this one. */
  async function run(...args: string[]): Promise<CliAnswer> {
    const answers: CliAnswer[] = [];
    const runner: CliRunner = {
      run: async (_isJson, work) => void answers.push(await work(gateway.parts)),
      doctor: async () => undefined,
      client: async () => undefined,
      mcp: async () => undefined,
      withCells: async () => undefined,
      withTools: async (_isJson, work) => void answers.push(await work({} as never)),
    };
    await createProgram(runner, process.stdout).parseAsync(args, { from: 'user' });
    return answers[0]!;
  }
  /** Exports the audit log to a file, and returns the file's lines. */
  async function exported(name: string, ...options: string[]): Promise<string[]> {
    await run('audit', 'export', '--file', join(directory, name), ...options);
    return (await readFile(join(directory, name), 'utf8')).trimEnd().split(/\r?\n/);
  }
  async function check(name: string, lines: readonly string[]): Promise<CliAnswer> {
    await writeFile(join(directory, name), `${lines.join('\n')}\n`);
    return run('audit', 'verify', '--file', join(directory, name));
  }

  it('has the address and device of sign-ins, failures and changes (R303)', async () => {
    const headers = { 'X-Forwarded-For': FROM.address, 'User-Agent': FIREFOX };
    const ask = (query: string, token?: string) =>
      graphql(gateway, query, { headers, ...(token === undefined ? {} : { token }) });
    const enter = (password: string) =>
      ask(`mutation { signIn(email: "${account.email}", password: "${password}") { token } }`);
    await enter('not the password');
    const { token } = (await enter(account.password)).body.data.signIn;
    await ask('mutation { inviteMember(email: "guest@audit.example", role: VIEWER) { password } }', token);
    await ask('mutation { endOtherSessions }', token);
    await ask('mutation { setSecurityPolicy(requireSecondFactor: false) { id } }', token);
    await ask(
      `mutation { createAccessToken(input: { name: "t", permissions: ["message.list"],
         expiresAt: "${new Date(Date.now() + 3_600_000).toISOString()}" }) { token } }`,
      token,
    );
    const wanted = [
      'accessToken.create',
      'account.setSecurityPolicy',
      'member.invite',
      'member.signIn',
      'member.signInFailed',
      'session.end',
    ];
    const entries = await eventually(async () => {
      const rows: { action: string; after: object }[] = await withKnex(gateway.database.connection, (knex) =>
        knex('audit_entries').where({ account_id: account.accountId }).whereIn('action', wanted),
      );
      return rows.length === wanted.length ? rows : undefined;
    });
    for (const { action, after } of entries) expect({ action, after }).toMatchObject({ after: FROM });
    expect(JSON.stringify(entries)).not.toContain(token);
  });

  it('is found by person, action and time (R303)', async () => {
    const owner = await signIn(gateway, account);
    const { viewer } = (await graphql(gateway, '{ viewer { id } }', { token: owner })).body.data;
    const find = async (filter: object) => {
      const query = `query ($filter: AuditLogFilter) { auditLog(filter: $filter) { nodes { action at } } }`;
      const answer = await graphql(gateway, query, { token: owner, variables: { filter } });
      return answer.body.data.auditLog.nodes.map(({ action }: { action: string }) => action);
    };
    const person = { actor: `user:${viewer.id}`, action: 'member.invite' };
    expect(await find(person)).toEqual(['member.invite']);
    expect(await find({ ...person, from: new Date(Date.now() + 60_000).toISOString() })).toEqual([]);
    expect(await find({ ...person, actor: `user:${account.accountId}` })).toEqual([]);
  });

  it('is exported as JSON lines, which are checked without the gateway (R303)', async () => {
    const lines = await exported('whole.jsonl');
    const { json } = await run('audit', 'verify');
    const { entries, head } = json as { entries: number; head: string };
    expect(lines).toHaveLength(entries);
    expect(await run('audit', 'verify', '--file', join(directory, 'whole.jsonl'))).toEqual({
      json: { isIntact: true, entries, first: 1, last: entries, head, brokenLine: null },
    });
    // A part of the export can be verified, too.
    const part = await check('part.jsonl', lines.slice(3, 6));
    expect(part.json).toMatchObject({ isIntact: true, entries: 3, first: 4, last: 6 });
    // The export never overwrites an existing file.
    await expect(run('audit', 'export', '--file', join(directory, 'whole.jsonl'))).rejects.toThrow(
      'whole.jsonl exists already: name a file that does not exist.',
    );
  });

  it.each<[string, (lines: string[]) => string[], number]>([
    ['a changed value', (lines) => lines.with(2, lines[2]!.replace(/"action":"[^"]*"/, '"action":"x.y"')), 3],
    ['a changed hash', (lines) => lines.with(2, lines[2]!.replace(/"hash":"./, '"hash":"g')), 3],
    ['a line taken out', (lines) => lines.toSpliced(2, 1), 3],
    ['two lines in each other’s place', (lines) => [lines[1]!, lines[0]!, ...lines.slice(2)], 2],
    ['a doubled line', (lines) => lines.toSpliced(2, 0, lines[1]!), 3],
    [
      'another beginning',
      (lines) => lines.with(0, lines[0]!.replace(/"previousHash":"0/, '"previousHash":"1')),
      1,
    ],
    ['no JSON', (lines) => lines.with(4, 'null'), 5],
  ])('%s is found in an export (R303)', async (_, change, line) => {
    const lines = await exported(`${line}-${Math.random()}.jsonl`);
    const { json, failure } = await check(`changed-${Math.random()}.jsonl`, change(lines));
    expect(json).toMatchObject({ isIntact: false, entries: line - 1, brokenLine: line });
    expect(failure).toBe(`The export is broken at line ${line}.`);
  });

  it('is exported as CSV (R303)', async () => {
    const token = await signIn(gateway, account);
    await inviteMember(gateway, token, 'SUPPORT');
    // Sign-ins are recorded a moment later, so the log may grow between the two commands.
    const lines = await eventually(async () => {
      const found = await exported(`log-${Math.random()}.csv`, '--format', 'csv');
      const { entries } = (await run('audit', 'verify')).json as { entries: number };
      return found.length === entries + 1 && found;
    });
    expect(lines[0]).toBe('seq,id,accountId,at,actor,action,target,before,after,previousHash,hash');
    expect(lines[1]).toMatch(
      /^1,[\w-]{36},[\w-]{36},\d{4}-[\d-]+T[\d:.]+Z,system:test,account\.create,[\w-]{36},,"\{""[^\r]*",0{64},[0-9a-f]{64}$/,
    );
  });

  it('is exported in part by owners, by person, action and time, and checked with --part (R303)', async () => {
    const other = await gateway.createAccount();
    const token = await signIn(gateway, other);
    await inviteMember(gateway, token, 'VIEWER');
    await inviteMember(gateway, token, 'ADMIN');
    const LINES = `query ($filter: AuditLogFilter, $format: AuditExportFormat!) {
      auditLog(first: 100, filter: $filter) { nodes { action exportLine(format: $format) } }
    }`;
    const ask = async (filter: object, format: string, as = token) =>
      graphql(gateway, LINES, { token: as, variables: { filter, format } });
    const linesOf = async (filter: object, format = 'JSON_LINES') => {
      const { nodes } = (await ask(filter, format)).body.data.auditLog;
      return nodes.map(({ exportLine }: { exportLine: string }) => exportLine).reverse() as string[];
    };
    const { id } = (await graphql(gateway, '{ viewer { id } }', { token })).body.data.viewer;
    const lines = await linesOf({
      action: 'member.invite',
      actor: `user:${id}`,
      from: new Date(0).toISOString(),
    });
    expect(lines.map((line) => JSON.parse(line).after.role)).toEqual(['VIEWER', 'ADMIN']);
    const all = await linesOf({});
    for (const line of all) expect(JSON.parse(line).accountId).toBe(other.accountId);
    const part = (name: string, text: readonly string[]) => {
      const path = join(directory, name);
      return writeFile(path, `${text.join('\n')}\n`).then(() =>
        run('audit', 'verify', '--file', path, '--part'),
      );
    };
    expect((await part('own.jsonl', all)).json).toMatchObject({ isIntact: true, entries: all.length });
    const forged = all.map((line, index) =>
      index === 1 ? line.replace(other.accountId, account.accountId) : line,
    );
    expect((await part('forged.jsonl', forged)).json).toMatchObject({ isIntact: false, brokenLine: 2 });
    const [cells] = await linesOf({ action: 'member.invite' }, 'CSV');
    expect(cells).toContain(`,${other.accountId},`);
    const viewer = await signIn(gateway, await inviteMember(gateway, token, 'VIEWER'));
    expect(codesOf(await ask({}, 'CSV', viewer))).toContain('FORBIDDEN');
  });
});
