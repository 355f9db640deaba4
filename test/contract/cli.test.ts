import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { SCOPES } from '../../src/domain/caller.ts';
import { runCliHere } from '../support/cli.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { codesOf, graphql, signIn } from '../support/graphql.ts';
import { startPooler } from '../support/pooler.ts';
import {
  buildWorkplace,
  type Finished,
  postmasterPid,
  query,
  quickstartOf,
  runCli,
  startCli,
  startServer,
  type Workplace,
} from '../support/server-process.ts';
import { startSmsc } from '../support/smsc.ts';
import { openSql } from '../support/sql.ts';
import { startStandby } from '../support/standby.ts';

// Time limit of a test in ms. Some tests start processes, which takes long on a busy machine.
jest.setTimeout(180_000);

const MASTER_KEY = Buffer.alloc(32, 7).toString('base64');
const NOBODY = '0190c3e2-5b1f-7c44-9d0e-6c1b6a5f2e11';

let workplace: Workplace;
beforeAll(async () => {
  workplace = await buildWorkplace();
});
afterAll(() => workplace.remove());

/** Returns the JSON document that a command printed. */
function documentOf({ code, stdout, stderr }: Finished) {
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout.split('\n')).toHaveLength(2);
  return JSON.parse(stdout);
}

function refusalOf({ code, stdout, stderr }: Finished): string {
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(/^[^\n]+\n$/);
  return stderr.trimEnd();
}

describe('the command line beside a running gateway (R246)', () => {
  let gateway: TestGateway;
  let accountId: string;
  const variables = () => ({
    DATABASE_URL: gateway.database.url,
    MASTER_KEY,
    DATA_DIR: workplace.path,
    // The keys that it makes must belong to the cell of the gateway, if the tests run with cells.
    CELL_SLOTS: '800-fff',
  });
  const cli = (...args: string[]) => runCliHere(args, variables());
  const json = async (...args: string[]) => documentOf(await cli(...args, '--json'));
  beforeAll(async () => {
    gateway = await startTestGateway();
    accountId = (await gateway.createAccount()).accountId;
  });
  afterAll(() => gateway.stop());

  it('account create prints the account and its owner', async () => {
    const args = ['account', 'create', '--email', 'shop@test.example', '--currency', 'UGX'];
    const create = (...more: string[]) => runCli(workplace, [...args, ...more], variables());
    const created = documentOf(await create('--name', 'Shop', '--balance', '500', '--json'));
    expect(created).toEqual({
      account: { id: expect.any(String), email: 'shop@test.example', balance: 500, currency: 'UGX' },
      user: { email: 'shop@test.example', password: expect.stringMatching(/^\S{16,}$/) },
    });
    const ledger = await query(
      gateway.database.connection,
      'SELECT kind, actor, amount_minor FROM ledger_entries WHERE account_id = $1',
      [created.account.id],
    );
    expect(ledger).toEqual([{ kind: 'opening', actor: 'system:cli', amount_minor: expect.anything() }]);
    expect(refusalOf(await create())).toBe('--email: is already in use');
  });

  it('account topup adds to the balance', async () => {
    const before = (await json('account', 'topup', '--account', accountId, '--amount', '1')).account;
    const { account } = await json('account', 'topup', '--account', accountId, '--amount', '2500');
    expect(account).toEqual({ ...before, id: accountId, balance: before.balance + 2500 });
  });

  it('account list finds accounts, page by page', async () => {
    const made: string[] = [];
    for (const name of ['Kiosk one', 'Kiosk two', 'Kiosk three']) {
      const email = `${name.replace(' ', '.')}@kiosks.example`;
      const args = ['--email', email, '--currency', 'USD', '--name', name, '--balance', '19.5'];
      made.unshift((await json('account', 'create', ...args)).account.id);
    }
    const [third = '', second = '', first = ''] = made;
    const { connection } = gateway.database;
    await query(connection, `UPDATE accounts SET moving = 'closed' WHERE id = $1`, [second]);
    await query(
      connection,
      `UPDATE accounts SET moving = 'moved', name = E'Kiosk\\x1b[2J\\none' WHERE id = $1`,
      [first],
    );
    await query(
      connection,
      `INSERT INTO plans (id, name, per_minute, per_second, webhooks_per_minute, created_at)
       VALUES ('${NOBODY}', 'Kiosks', 1, 0, 1, now())`,
    );
    await query(connection, `UPDATE accounts SET plan_id = '${NOBODY}' WHERE id = $1`, [third]);
    const kiosk = { currency: 'USD', balance: 19.5 };
    const newest = [
      {
        ...kiosk,
        id: third,
        name: 'Kiosk three',
        email: 'Kiosk.three@kiosks.example',
        status: 'active',
        plan: 'Kiosks',
      },
      {
        ...kiosk,
        id: second,
        name: 'Kiosk two',
        email: 'Kiosk.two@kiosks.example',
        status: 'moving',
        plan: null,
      },
    ];
    const page = await json('account', 'list', '--search', 'KIOSKS.example', '--first', '2');
    expect(page).toEqual({ accounts: newest, next: expect.any(String) });
    const rest = await json('account', 'list', '--search', 'kiosk', '--after', page.next);
    expect(rest).toMatchObject({ accounts: [{ id: first, status: 'moved', plan: null }], next: null });

    const { stdout } = await cli('account', 'list', '--search', 'kiosk', '--first', '2');
    expect(stdout).toBe(
      `id                                    name         email                       currency  balance  status  plan
${third}  Kiosk three  Kiosk.three@kiosks.example  USD       19.50    active  Kiosks
${second}  Kiosk two    Kiosk.two@kiosks.example    USD       19.50    moving  -
more: add --after ${page.next}
`,
    );
    const last = await cli('account', 'list', '--search', 'kiosk', '--after', page.next);
    expect(last.stdout.split('\n')[1]).toContain(`${first}  Kiosk\ufffd[2J\ufffdone  `);
    expect((await cli('account', 'list', '--search', 'nobody at all')).stdout).toBe('no accounts\n');
    expect((await json('account', 'list')).accounts.length).toBeGreaterThan(3);
    expect(refusalOf(await cli('account', 'list', '--search', 'x'.repeat(321)))).toBe(
      '--search: must have at most 320 characters',
    );
    expect(refusalOf(await cli('account', 'list', '--first', '101'))).toBe(
      "option '--first <number>' argument '101' is invalid. It must be a whole number from 1 to 100.",
    );
  });

  it('account retention sets how long messages are kept', async () => {
    const set = (content: string, message: string) =>
      [
        'account',
        'retention',
        '--account',
        accountId,
        '--content-days',
        content,
        '--message-days',
        message,
      ] as const;
    expect(await json(...set('30', 'keep'))).toEqual({ retention: { contentDays: 30, messageDays: null } });
    expect(refusalOf(await cli(...set('30', '29')))).toBe(
      '--message-days: must not be fewer than --content-days',
    );
    expect(await json(...set('keep', 'keep'))).toEqual({
      retention: { contentDays: null, messageDays: null },
    });
    for (const days of ['0', '36501', '99999999', '1e3', 'for ever']) {
      expect(refusalOf(await cli(...set('keep', days)))).toBe(
        `option '--message-days <number>' argument '${days}' is invalid. ` +
          'It must be a whole number from 1 to 36500, or keep.',
      );
    }
    expect((await json(...set('1', '36500'))).retention.messageDays).toBe(36_500);
  });

  it('key create and key revoke take effect at once in the running gateway', async () => {
    const made = await json(
      'key',
      'create',
      '--account',
      accountId,
      '--scopes',
      'SEND_SMS,READ_MESSAGES',
      '--name',
      'till',
    );
    expect(made).toEqual({
      apiKey: {
        keyId: expect.stringMatching(/^[0-9a-f]{16}$/),
        name: 'till',
        scopes: ['SEND_SMS', 'READ_MESSAGES'],
        environment: 'production',
        enableHmac: false,
        ipAllowlist: [],
        createdAt: expect.any(String),
        expiresAt: null,
        lastUsedAt: null,
        revokedAt: null,
      },
      key: expect.stringMatching(new RegExp(`^msg_${made.apiKey.keyId}_[0-9a-f]{40}$`)),
      signingSecret: null,
    });
    const account = () => gateway.call('GET', '/account', { key: made.key });
    expect((await account()).status).toBe(200);
    const revoke = ['key', 'revoke', '--key', made.apiKey.keyId, '--json'];
    const { apiKey } = documentOf(await runCli(workplace, revoke, variables()));
    expect(apiKey).toEqual({ ...made.apiKey, lastUsedAt: apiKey.lastUsedAt, revokedAt: expect.any(String) });
    await eventually(async () => (await account()).status === 401);
  });

  it('key revoke --descendants revokes the keys that a key made, and lists them', async () => {
    const root = await json('key', 'create', '--account', accountId, '--scopes', 'FULL_ACCESS');
    const make = async () => {
      const body = { name: 'made', scopes: ['SEND_SMS'], environment: 'sandbox' };
      return (await gateway.call('POST', '/developer/keys', { key: root.key, body })).body;
    };
    const [first, second] = [await make(), await make()];
    const answer = await json('key', 'revoke', '--key', root.apiKey.keyId, '--descendants');
    expect(answer.apiKey).toMatchObject({ keyId: root.apiKey.keyId, revokedAt: expect.any(String) });
    expect(answer.revokedKeys.map((one: { keyId: string }) => one.keyId)).toEqual(
      [root, first, second].map(({ apiKey }) => apiKey.keyId),
    );
    for (const { key } of [root, first, second]) {
      expect((await gateway.call('GET', '/account', { key })).status).toBe(401);
    }
    const again = await cli('key', 'revoke', '--key', root.key, '--descendants');
    expect(again.stdout).toMatch(/^revokedKeys$/m);
  });

  it('key create accepts every property of a key', async () => {
    const { apiKey, signingSecret } = await json(
      ...[
        'key',
        'create',
        '--account',
        accountId,
        '--scopes',
        'FULL_ACCESS',
        '--environment',
        'sandbox',
        '--hmac',
      ],
      ...[
        '--allow-ip',
        '203.0.113.0/24,2001:db8::/32',
        '--expires',
        '2036-01-01T00:00:00Z',
        '--rate-limit',
        '600',
      ],
    );
    expect(signingSecret).toMatch(/^sigsec_[A-Za-z0-9_-]{43}$/);
    expect(apiKey).toMatchObject({
      environment: 'sandbox',
      enableHmac: true,
      ipAllowlist: ['203.0.113.0/24', '2001:db8::/32'],
      expiresAt: '2036-01-01T00:00:00.000Z',
    });
    const stored = await query(
      gateway.database.connection,
      'SELECT per_minute, per_second FROM api_keys WHERE key_id = $1',
      [apiKey.keyId],
    );
    expect(stored).toEqual([{ per_minute: 600, per_second: null }]);
  });

  it('operator create makes a sign-in above accounts', async () => {
    expect(await json('operator', 'create', '--email', 'ops@test.example')).toEqual({
      user: { email: 'ops@test.example', password: expect.stringMatching(/^\S{16,}$/) },
    });
    const [user] = await query(
      gateway.database.connection,
      `SELECT role, account_id FROM users WHERE email = 'ops@test.example'`,
    );
    expect(user).toEqual({ role: 'OPERATOR', account_id: null });
  });

  it('user password resets the lost password of an owner and an operator', async () => {
    const { user: owner } = await json(
      ...['account', 'create', '--email', 'lost@test.example', '--currency', 'UGX'],
    );
    const { user: operator } = await json('operator', 'create', '--email', 'lost-ops@test.example');
    const viewer = '{ viewer { email mustChangePassword } }';
    for (const { email, password } of [owner, operator]) {
      const token = await signIn(gateway, { email, password });
      const next = 'one that will be forgotten';
      const change = 'mutation ($c: String!, $n: String!) { changePassword(current: $c, new: $n) }';
      const changed = await graphql(gateway, change, { token, variables: { c: password, n: next } });
      expect(changed.body).toEqual({ data: { changePassword: true } });

      const answer = await json('user', 'password', '--email', email.toUpperCase());
      expect(answer).toEqual({ user: { email, password: expect.stringMatching(/^\S{16,}$/) } });
      expect(codesOf(await graphql(gateway, viewer, { token }))).toEqual(['UNAUTHENTICATED']);
      await expect(signIn(gateway, { email, password: next })).rejects.toThrow('cannot sign in');
      const again = await graphql(gateway, viewer, { token: await signIn(gateway, answer.user) });
      expect(again.body).toEqual({ data: { viewer: { email, mustChangePassword: true } } });
    }
    const audited = await query(
      gateway.database.connection,
      `SELECT e.actor, u.email, e.account_id IS NOT DISTINCT FROM u.account_id AS is_of_account
       FROM audit_entries e JOIN users u ON u.id::text = e.target
       WHERE e.action = 'member.resetPassword' ORDER BY e.seq`,
    );
    expect(audited).toEqual(
      [owner, operator].map(({ email }) => ({ actor: 'system:cli', email, is_of_account: true })),
    );
    expect((await json('audit', 'verify')).brokenAt).toBeNull();
    expect(refusalOf(await cli('user', 'password', '--email', 'nobody@test.example'))).toBe('User not found');
  });

  it('user reset-factors finds a person by email, who knows no id (R572)', async () => {
    const { user } = await json('operator', 'create', '--email', 'factors@test.example');
    const token = await signIn(gateway, user);
    const { id } = (await json('user', 'reset-factors', '--email', user.email.toUpperCase())).user;
    const [audited] = await query(
      gateway.database.connection,
      `SELECT u.email, e.actor FROM audit_entries e JOIN users u ON u.id::text = e.target
       WHERE e.action = 'secondFactor.reset' AND u.id = '${id}'`,
    );
    expect(audited).toEqual({ email: user.email, actor: 'system:cli' });
    const viewer = '{ viewer { email } }';
    expect(codesOf(await graphql(gateway, viewer, { token }))).toEqual(['UNAUTHENTICATED']);
    expect(await json('user', 'reset-factors', '--user', id)).toEqual({ user: { id, email: user.email } });
    const reset = (...args: string[]) => cli('user', 'reset-factors', ...args);
    expect(refusalOf(await reset('--email', 'nobody@test.example'))).toBe('User not found');
    const unnamed = 'Name the person by --email or by --user.';
    expect(refusalOf(await reset())).toBe(unnamed);
    expect(refusalOf(await reset('--email', user.email, '--user', id))).toBe(unnamed);
  });

  it('audit export leaves a file that exists, and audit verify knows that CSV cannot be checked', async () => {
    const file = join(await workplace.directory('exports'), 'audit.csv');
    await json('audit', 'export', '--file', file, '--format', 'csv');
    const text = await readFile(file, 'utf8');
    expect(refusalOf(await cli('audit', 'export', '--file', file))).toBe(
      `${file} exists already: name a file that does not exist.`,
    );
    expect(await readFile(file, 'utf8')).toBe(text);
    expect((await cli('audit', 'verify', '--file', file)).stderr).toBe(
      `${file} has no JSON lines: check what audit export --format jsonl wrote.\n`,
    );
  });

  it.each([
    [
      'an account that is not there',
      ['account', 'topup', '--account', NOBODY, '--amount', '1'],
      'Account not found',
    ],
    ['an id that is none', ['account', 'topup', '--account', 'x', '--amount', '1'], 'Account not found'],
    [
      'a currency that is none',
      ['account', 'create', '--email', 'x@y.z', '--currency', 'SHILLING'],
      'ISO 4217',
    ],
    [
      'a balance below zero',
      ['account', 'create', '--email', 'x@y.z', '--currency', 'UGX', '--balance', '-5'],
      'balance',
    ],
    [
      'an amount that is no number',
      ['account', 'topup', '--account', NOBODY, '--amount', 'lots'],
      "'lots' is invalid",
    ],
    [
      'an option that is missing',
      ['account', 'topup', '--account', NOBODY],
      "'--amount <amount>' not specified",
    ],
    ['an unknown command', ['account', 'creat'], "unknown command 'creat' (Did you mean create?)"],
    ['an unknown key', ['key', 'revoke', '--key', '0000000000000000'], 'API key not found'],
  ])('refuses %s with one line', async (_name, args, message) => {
    expect(refusalOf(await cli(...args, '--json'))).toContain(message);
  });

  it('key create enforces the rules of the API', async () => {
    const create = (...args: string[]) => cli('key', 'create', '--account', accountId, ...args);
    expect(refusalOf(await create('--scopes', 'SEND_FAX'))).toContain('SEND_FAX');
    expect(refusalOf(await create('--scopes', 'SEND_SMS', '--environment', 'test'))).toContain('environment');
    expect(refusalOf(await create('--scopes', 'SEND_SMS', '--expires', '2020-01-01T00:00:00Z'))).toContain(
      'future',
    );
    for (const limit of ['0', '1e3', '1000001', '9999999', '-5']) {
      expect(refusalOf(await create('--scopes', 'SEND_SMS', `--rate-limit=${limit}`))).toBe(
        `option '--rate-limit <number>' argument '${limit}' is invalid. ` +
          'It must be a whole number from 1 to 1000000.',
      );
    }
    const { apiKey } = await json(
      ...['key', 'create', '--account', accountId, '--scopes', 'SEND_SMS', '--rate-limit', '1000000'],
    );
    expect(apiKey.keyId).toMatch(/^[0-9a-f]{16}$/);
  });

  it.each<[string, string[], string]>([
    [
      'account create',
      ['--email', 'shop', '--currency', 'SHILLING', '--name', ''],
      '--email: must be an email address such as name@example.com: its domain has a dot, and other letters in their ' +
        'xn-- form; --name: must have 1 to 200 characters; --currency: must be an ISO 4217 code such as UGX',
    ],
    [
      'account create',
      ['--email', 'x@y.example', '--currency', 'UGX', '--balance', '0.5'],
      '--balance: The amount has more than 0 decimals or is too large for UGX',
    ],
    ['account topup', ['--account', 'OWN', '--amount', '0'], '--amount: must be at least 1 UGX'],
    ['account list', ['--after', 'x'], '--after: must be a cursor that this list gave'],
    [
      'account retention',
      ['--account', 'OWN', '--content-days', '30', '--message-days', '29'],
      '--message-days: must not be fewer than --content-days',
    ],
    [
      'key create',
      ['--account', 'OWN', '--scopes', 'SEND_SMS,ipAllowlist'],
      `--scopes, entry 2: Unknown scope "ipAllowlist". Known: ${SCOPES.join(', ')}`,
    ],
    [
      'key create',
      [
        ...['--account', 'OWN', '--scopes', 'SEND_SMS', '--name', '', '--environment', 'test'],
        ...['--allow-ip', '203.0.113.0/24,shop', '--expires', 'soon'],
      ],
      '--name: must have 1 to 100 characters; --environment: must be production or sandbox; ' +
        '--allow-ip, entry 2: must be a CIDR such as 203.0.113.0/24 or 2001:db8::/32; ' +
        '--expires: must be an ISO 8601 time with Z or an offset',
    ],
    [
      'operator create',
      ['--email', 'ops'],
      '--email: must be an email address such as name@example.com: its domain has a dot, and other letters in their ' +
        'xn-- form',
    ],
    ['release', ['--since', 'yesterday'], '--since: must be an ISO 8601 time with Z or an offset'],
  ])(
    '%s names the option that was typed, and no field of the API: %j (R585)',
    async (command, args, told) => {
      const typed = args.map((arg) => (arg === 'OWN' ? accountId : arg));
      expect(refusalOf(await cli(...command.split(' '), ...typed))).toBe(told);
    },
  );

  it.each(['password', 'reset-factors'])(
    'user %s asks for --account, if several people have the email (R585)',
    async (command) => {
      const people = await Promise.all(
        [1, 2].map((one) =>
          json('account', 'create', '--email', `${command}${one}@test.example`, '--currency', 'UGX'),
        ),
      );
      const email = `${command}@test.example`;
      await query(
        gateway.database.connection,
        'UPDATE users SET email = $1, invited_at = created_at WHERE email = ANY($2)',
        [email, people.map(({ user }) => user.email)],
      );
      const refusal = refusalOf(await cli('user', command, '--email', email));
      const told = '--account: several people sign in with the email; name the account of one: ';
      expect(refusal.slice(0, told.length)).toBe(told);
      expect(refusal.slice(told.length).split('; ').sort()).toEqual(
        people.map(({ account }) => account.id).sort(),
      );
    },
  );

  it('key create makes no key without the requested restriction', async () => {
    const create = ['key', 'create', '--account', accountId];
    const keys = () =>
      query(gateway.database.connection, 'SELECT key_id FROM api_keys WHERE account_id = $1', [accountId]);
    const before = await keys();
    // If a shell variable is not set, the option's value is an empty text.
    for (const given of [',', ' , ', '']) {
      expect(refusalOf(await cli(...create, '--scopes', 'SEND_SMS', '--allow-ip', given))).toBe(
        `option '--allow-ip <cidrs>' argument '${given}' is invalid. ` +
          'Name at least one, separated by commas.',
      );
    }
    expect(refusalOf(await cli(...create, '--scopes', ''))).toContain(
      "option '--scopes <scopes>' argument ''",
    );
    expect(await keys()).toEqual(before);
  });

  it('key revoke accepts a whole key instead of its id, and names the right form', async () => {
    const create = ['key', 'create', '--account', accountId, '--scopes', 'SEND_SMS'];
    const { key, apiKey } = await json(...create);
    for (const given of [key.slice(0, -1), key.toUpperCase(), apiKey.keyId.slice(1), 'shop']) {
      expect(refusalOf(await cli('key', 'revoke', '--key', given))).toBe(
        '--key must be a key id such as f4f3d11fe74a826e, or a whole key.',
      );
    }
    const revoked = await json('key', 'revoke', '--key', key);
    expect(revoked.apiKey).toEqual({ ...apiKey, revokedAt: expect.any(String) });
  });

  it('doctor prints one row for each part and provider, all ok (R348)', async () => {
    const { checks } = await json('doctor');
    const parts = checks.filter((row: { check: string }) => row.check !== 'provider');
    expect(parts.map((row: { check: string; ok: boolean }) => [row.check, row.ok])).toEqual([
      ['database', true],
      ['queue', true],
      ['ledger', true],
      ['sending', true],
      ['carriers', true],
      ['clock', true],
      ['master key', true],
    ]);
    const { stdout } = await cli('doctor');
    expect(checks.length).toBeGreaterThan(parts.length);
    expect(stdout.trimEnd().split('\n')).toHaveLength(checks.length);
  });

  it('doctor reports an unreachable carrier and a master key that opens nothing', async () => {
    await gateway.createKey(accountId, { enableHmac: true });
    const result = await runCliHere(['doctor', '--json'], {
      DATABASE_URL: gateway.database.url,
      DATA_DIR: workplace.path,
      MASTER_KEY: Buffer.alloc(32, 8).toString('base64'),
      SMS_ROUTES: '*=smpp://id:hunter2@127.0.0.1:1',
    });
    expect(result).toMatchObject({ code: 1, stderr: 'failed: carriers, smpp:id@127.0.0.1:1, master key\n' });
    expect(result.stdout).not.toContain('hunter2');
    const failed = JSON.parse(result.stdout).checks.filter((row: { ok: boolean }) => !row.ok);
    expect(failed.map((row: { check: string }) => row.check)).toEqual(['carriers', 'provider', 'master key']);
  });

  it('neither a command nor a server starts with a master key that opens nothing', async () => {
    await gateway.createKey(accountId, { enableHmac: true });
    const variables = {
      DATABASE_URL: gateway.database.url,
      DATA_DIR: workplace.path,
      MASTER_KEY: Buffer.alloc(32, 8).toString('base64'),
    };
    const create = ['key', 'create', '--account', accountId, '--scopes', 'SEND_SMS', '--hmac'];
    expect(refusalOf(await runCliHere(create, variables))).toContain('MASTER_KEY_PREVIOUS');
    const { code, stdout, stderr } = await startServer(workplace, variables).finished;
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^Cannot start:\nMASTER_KEY is not that of this database.*MASTER_KEY_PREVIOUS/);
  });

  it('doctor binds to the carrier', async () => {
    const smsc = await startSmsc();
    try {
      const result = await runCliHere(['doctor', '--json'], {
        DATABASE_URL: gateway.database.url,
        DATA_DIR: workplace.path,
        MASTER_KEY,
        SMS_ROUTES: `*=${smsc.url}|twilio://sid:token@127.0.0.1:1`,
      });
      const { checks } = JSON.parse(result.stdout);
      // Nothing listens where Twilio should be: its own row fails.
      expect(result).toMatchObject({ code: 1, stderr: 'failed: twilio:sid@127.0.0.1:1\n' });
      expect(carriersOf(checks)).toMatchObject({
        check: 'carriers',
        ok: true,
        detail: expect.stringMatching(/^smpp:\S+ is up; twilio:\S+ is set up, not tried; email-simulator/),
      });
      expect(smsc.messages()).toEqual([]);
    } finally {
      await smsc.stop();
    }
  });
});

describe('the command line and its database', () => {
  it('migrate prints from and to, and does nothing the second time', async () => {
    const empty: TestDatabase = await createTestDatabase('template1');
    try {
      const migrate = async () =>
        documentOf(
          await runCliHere(['migrate', '--json'], {
            DATABASE_URL: empty.url,
            MASTER_KEY,
            DATA_DIR: workplace.path,
          }),
        );
      const { from, to } = await migrate();
      expect(from).toBe('none');
      expect(to).toMatch(/^\d{4}$/);
      expect(await migrate()).toEqual({ from: to, to });
    } finally {
      await empty.drop();
    }
  });

  it('migrate and doctor report a schema newer than this release', async () => {
    const newer = await createTestDatabase();
    try {
      const sql = await openSql(newer);
      await sql.query(
        `INSERT INTO schema_migrations (name, batch, migration_time) VALUES ('9999_future', 99, now())`,
      );
      await sql.close();
      const variables = { DATABASE_URL: newer.url, MASTER_KEY, DATA_DIR: workplace.path };
      const migrated = documentOf(await runCliHere(['migrate', '--json'], variables));
      expect(migrated).toMatchObject({ to: '9999', newerThan: expect.stringMatching(/^\d{4}$/) });
      const told = `schema 9999, newer than this release knows (${migrated.newerThan})`;
      expect((await runCliHere(['migrate'], variables)).stdout).toContain(told);
      const { checks } = documentOf(await runCliHere(['doctor', '--json'], variables));
      expect(checks[0]).toMatchObject({ check: 'database', ok: true, detail: expect.stringContaining(told) });
    } finally {
      await newer.drop();
    }
  });

  it('doctor and every other command report an unreachable database', async () => {
    const variables = {
      DATABASE_URL: 'postgres://user:hunter2@127.0.0.1:1/db',
      MASTER_KEY,
      DATA_DIR: workplace.path,
    };
    const doctor = await runCliHere(['doctor', '--json'], variables);
    expect(doctor).toMatchObject({ code: 1, stderr: expect.stringMatching(/^failed: database.*\n$/) });
    const [database] = JSON.parse(doctor.stdout).checks;
    expect(database).toMatchObject({
      check: 'database',
      ok: false,
      detail: expect.stringContaining('127.0.0.1:1'),
    });
    expect(refusalOf(await runCliHere(['migrate'], variables))).toContain('The database cannot be reached');
    expect(JSON.stringify(doctor)).not.toContain('hunter2');
  });

  it('doctor checks what the gateway needs of the database, also through a pool of sessions', async () => {
    const database = await createTestDatabase();
    await using pooler = await startPooler(database.connection, { mode: 'session' });
    try {
      const detailWith = async (url: string) => {
        const variables = { DATABASE_URL: url, MASTER_KEY, DATA_DIR: workplace.path };
        const [row] = documentOf(await runCliHere(['doctor', '--json'], variables)).checks;
        return row.detail;
      };
      const well = /, schema \d+; settings hold, \d+ statements are understood, notifications arrive$/;
      expect(await detailWith(database.url)).toMatch(well);
      const pooled = await detailWith(pooler.url);
      expect(pooled).toMatch(well);
      expect(pooled).toMatch(/^PostgreSQL \S+ through a connection pool, /);
    } finally {
      await database.drop();
    }
  });

  it('doctor reports a statement that the database cannot parse', async () => {
    const database = await createTestDatabase();
    const sql = await openSql(database);
    try {
      // Remove a table that one of the gateway's statements reads.
      await sql.query('ALTER TABLE spent_signatures RENAME TO elsewhere');
      const variables = { DATABASE_URL: database.url, MASTER_KEY, DATA_DIR: workplace.path };
      const doctor = await runCliHere(['doctor', '--json'], variables);
      expect(doctor).toMatchObject({ code: 1, stderr: 'failed: database\n' });
      expect(JSON.parse(doctor.stdout).checks[0].detail).toMatch(
        /, which refuses \d of the gateway's \d+ statements: \S+ \(relation "spent_signatures" does not exist\)/,
      );
    } finally {
      await sql.close();
      await database.drop();
    }
  });

  it('server, doctor and commands refuse a pool of transactions, a hot standby and a read-only database', async () => {
    const database = await createTestDatabase();
    const standby = await startStandby();
    await using pooler = await startPooler(database.connection, { mode: 'transaction' });
    const { host, port, user } = standby.connection;
    const urls = [
      [pooler.url, /The database is behind a pool .*pool_mode=transaction.* Set pool_mode=session/],
      [
        `postgres://${user}@${encodeURIComponent(host)}:${port}/${standby.connection.database}`,
        /The database is a hot standby: .* Name the primary in DATABASE_URL/,
      ],
      [
        `${database.url}?options=-c%20default_transaction_read_only%3Don`,
        /The database is read-only: default_transaction_read_only is on \(set by: client\)/,
      ],
    ] as const;
    try {
      for (const [url, why] of urls) {
        const variables = { DATABASE_URL: url, MASTER_KEY, DATA_DIR: workplace.path };
        if (url === pooler.url) {
          const started = await startServer(workplace, variables).finished;
          expect(started).toMatchObject({ code: 1, stdout: '' });
          expect(started.stderr).toMatch(why);
          expect(started.stderr).toMatch(/^Cannot start: .*\n$/);
        }
        await expect(startTestGateway(variables, database)).rejects.toThrow(why);
        const { checks } = JSON.parse((await runCliHere(['doctor', '--json'], variables)).stdout);
        expect(checks[0]).toMatchObject({
          check: 'database',
          ok: false,
          detail: expect.stringMatching(why),
        });
        expect(refusalOf(await runCliHere(['migrate'], variables))).toMatch(why);
      }
    } finally {
      await standby.stop();
      await database.drop();
    }
  });

  it('a refusal by the database is reported with the fix', async () => {
    const refused = await createTestDatabase('template1');
    const sql = await openSql(refused);
    await sql.query('CREATE ROLE owns_nothing LOGIN');
    const migrate = async (change: (url: URL) => void) => {
      const url = new URL(refused.url);
      change(url);
      return refusalOf(
        await runCliHere(['migrate'], { DATABASE_URL: url.href, MASTER_KEY, DATA_DIR: workplace.path }),
      );
    };
    try {
      const asStranger = await migrate((url) => {
        url.username = 'owns_nothing';
      });
      expect(asStranger).toMatch(
        /^permission denied for .*\. The user in DATABASE_URL must own the database/,
      );
      const { database } = refused.connection;
      // Revoke the right to call pg_logical_emit_message, which every user has by default. Without it a send would be
      // stored and then answered with 503.
      await sql.query(
        `ALTER DATABASE ${database} OWNER TO owns_nothing; ALTER SCHEMA public OWNER TO owns_nothing`,
      );
      await sql.query(
        `DO $$ DECLARE f regprocedure; BEGIN
           FOR f IN SELECT oid FROM pg_proc WHERE proname = 'pg_logical_emit_message' LOOP
             EXECUTE 'REVOKE EXECUTE ON FUNCTION ' || f || ' FROM PUBLIC'; END LOOP; END $$`,
      );
      const asHardened = await migrate((url) => {
        url.username = 'owns_nothing';
      });
      expect(asHardened).toBe(
        'permission denied for function pg_logical_emit_message. The user in DATABASE_URL must own the database, and ' +
          'may call what PostgreSQL lets every user call.',
      );
      const elsewhere = await migrate((url) => {
        url.pathname = '/not_there';
      });
      expect(elsewhere).toBe(
        'database "not_there" does not exist. Create it, or name another in DATABASE_URL.',
      );
    } finally {
      await sql.query(
        'REASSIGN OWNED BY owns_nothing TO CURRENT_USER; DROP OWNED BY owns_nothing; DROP ROLE owns_nothing',
      );
      await sql.close();
      await refused.drop();
    }
  });

  it('doctor reports wrong carrier settings at the row of the carrier', async () => {
    for (const [name, value] of [
      ['SMS_ROUTES', '*=smpp://shop:secret@localhost:99999'],
      ['EMAIL_URL', 'smtp://localhost?no=such'],
      ['FCM_CREDENTIALS', '/no/such/file'],
    ] as const) {
      const DATABASE_URL = 'postgres://user@127.0.0.1:1/db';
      const variables = { MASTER_KEY, DATA_DIR: workplace.path, DATABASE_URL, [name]: value };
      const { checks } = JSON.parse((await runCliHere(['doctor', '--json'], variables)).stdout);
      expect(carriersOf(checks)).toMatchObject({
        check: 'carriers',
        ok: false,
        detail: expect.stringContaining(name),
      });
      expect(checks[0]).toMatchObject({ check: 'database', detail: 'not checked because of the carriers' });
    }
    const variables = { MASTER_KEY, DATA_DIR: '/dev/null/data' };
    const { checks } = JSON.parse((await runCliHere(['doctor', '--json'], variables)).stdout);
    expect(checks[0]).toMatchObject({ check: 'database', detail: expect.stringContaining('DATA_DIR') });
  });

  it('help needs no database, and every command has examples', async () => {
    const variables = { DATABASE_URL: 'postgres://user@127.0.0.1:1/db', PORT: 'bad' };
    const commands = [
      'account create',
      'account list',
      'account topup',
      'account retention',
      'key create',
      'key revoke',
      'operator create',
      'user password',
      'audit verify',
      'migrate',
      'doctor',
    ];
    for (const command of ['', ...commands]) {
      const args = [...command.split(' '), '--help'].filter(Boolean);
      const { code, stdout, stderr } =
        command === '' ? await runCli(workplace, args, variables) : await runCliHere(args, variables);
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      expect(stdout).toContain(`Examples:\n  $ npm run cli -- ${command}`);
    }
  });

  it('the commands of the SDK need none', async () => {
    const variables = { DATABASE_URL: 'postgres://user@127.0.0.1:1/db', PORT: 'bad' };
    const client = (...args: string[]) => runCli(workplace, args, variables);
    expect(await client('secret', '--api-key', 'msg_x')).toEqual({
      code: 0,
      stdout: expect.stringMatching(/^whsec_[\w-]{43}\n$/),
      stderr: '',
    });
    expect(refusalOf(await client('listen', '--forward-to', 'http://127.0.0.1:4000/'))).toContain(
      'API key is missing',
    );
    expect((await client('trigger', '--help')).stdout).toContain('trigger EVENT');
  });
});

describe('the command line on a DATA_DIR', () => {
  it.each([
    ['account', 'topup', '--account', NOBODY, '--amount', '1'],
    ['account', 'retention', '--account', NOBODY, '--content-days', 'keep', '--message-days', 'keep'],
    ['key', 'create', '--account', NOBODY, '--scopes', 'SEND_SMS'],
    ['key', 'revoke', '--key', 'f4f3d11fe74a826e'],
    ['operator', 'create', '--email', 'ops@b.example'],
    ['user', 'password', '--email', 'a@b.example'],
    ['audit', 'verify'],
    ['doctor'],
  ])('without a database the command says where it looked, and makes none: %s %s', async (...args) => {
    const parent = await workplace.directory('wrong');
    const dataDir = join(parent, 'data');
    const { code, stdout, stderr } = await runCliHere([...args], { DATA_DIR: dataDir });
    const told = `DATA_DIR is "${dataDir}", but there is no database of a gateway in ${dataDir}/postgres. `;
    expect(code).toBe(1);
    expect(stderr).toMatch(/^[^\n]+\n$/);
    if (args[0] === 'doctor') expect(stdout).toContain(`FAIL  database    ${told}`);
    else expect([stdout, stderr]).toEqual(['', expect.stringContaining(told)]);
    expect(await readdir(parent)).toEqual([]);
  });

  it('migrate makes a missing database; LOG_LEVEL logs to stderr, and stdout stays one document', async () => {
    const DATA_DIR = await workplace.directory('new');
    expect(await runCliHere(['migrate'], { DATA_DIR })).toMatchObject({ code: 0, stderr: '' });
    expect(await runCliHere(['audit', 'verify'], { DATA_DIR })).toMatchObject({ code: 0, stderr: '' });
    const variables = { DATA_DIR, LOG_LEVEL: 'info' };
    const { code, stdout, stderr } = await runCli(workplace, ['doctor', '--json'], variables);
    expect(code).toBe(0);
    const { checks } = JSON.parse(stdout);
    expect(checks.filter((row: { check: string }) => row.check !== 'provider')).toHaveLength(7);
    expect(stderr).toContain('embedded PostgreSQL started');
  });

  it('account create makes a missing database', async () => {
    const DATA_DIR = await workplace.directory('new');
    const create = ['account', 'create', '--email', 'a@b.example', '--currency', 'UGX'];
    expect(await runCliHere(create, { DATA_DIR })).toMatchObject({ code: 0, stderr: '' });
    expect(await runCliHere(['audit', 'verify'], { DATA_DIR })).toMatchObject({ code: 0, stderr: '' });
  });

  it('starts the embedded PostgreSQL and stops it again, also after it was killed during the command (R240)', async () => {
    const dataDir = await workplace.directory('alone');
    const create = ['account', 'create', '--email', 'a@b.example', '--currency', 'UGX', '--json'];
    const killed = startCli(workplace, create, { DATA_DIR: dataDir });
    await eventually(() => postmasterPid(dataDir));
    await killed.kill();
    const { account } = documentOf(await runCli(workplace, create, { DATA_DIR: dataDir }));
    await expect(postmasterPid(dataDir)).rejects.toThrow('ENOENT');

    const server = startServer(workplace, { DATA_DIR: dataDir, LOG_LEVEL: 'error' });
    try {
      // An account exists, so this is not a first start.
      expect(await server.ready()).toMatch(/^http/);
      expect(quickstartOf(server.stdout()).key).toBe('');
      const topup = ['account', 'topup', '--account', account.id, '--amount', '70', '--json'];
      const topped = documentOf(await runCliHere(topup, { DATA_DIR: dataDir }));
      expect(topped.account.balance).toBe(70);
      expect(await server.stop()).toMatchObject({ code: 0, stderr: '' });
    } finally {
      await server.kill();
    }
  });
});

/** Returns the doctor's check of the carriers. */
function carriersOf(checks: readonly { check: string }[]) {
  return checks.find(({ check }) => check === 'carriers');
}
