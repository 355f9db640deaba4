import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { codesOf, graphql, signIn } from '../support/graphql.ts';
import { openSql } from '../support/sql.ts';

const IMPORT = '/developers/suppressions/import';
const EXPORT = '/developers/suppressions/export';
const FILE = [
  'Channel;Address;Scope;Reason',
  'sms;0700 000 401;all;By phone',
  'email;Ann@Example.com;marketing;',
  'email;ann@example.com;all;"Wrote; twice"',
  'whatsapp;+256700000401;MARKETING;',
].join('\r\n');

describe('files of suppressions', () => {
  let gateway: TestGateway;
  let other: TestGateway;
  let account: TestAccount;
  let token: string;
  beforeAll(async () => {
    gateway = await startTestGateway();
    other = await startTestGateway({ ROLES: 'api' }, gateway.database);
    account = await gateway.createAccount();
    token = await signIn(gateway, account);
  });
  afterAll(async () => {
    await other?.stop();
    await gateway?.stop();
  });

  const post = (body: string | object, contentType = 'text/csv', key = account.key) =>
    gateway.call('POST', IMPORT, { key, body, headers: { 'Content-Type': contentType } });
  const fieldsOf = ({ body }: Awaited<ReturnType<typeof post>>) => body.error.details.fields;
  const exported = async (key = account.key, path = EXPORT) =>
    (await gateway.call('GET', path, { key })).text.replaceAll(/,\d{4}-\d\d-\d\dT[\d:.]+Z/g, ',AT');

  it('suppress each address once, in every process, and change nothing when repeated (R383)', async () => {
    const quote = { key: account.key, body: { to: '+256700000401', message: 'Hello' } };
    expect((await other.call('POST', '/developers/sms/quote', quote)).status).toBe(200);
    expect((await post(FILE)).body).toEqual({ rows: 4, changed: 3, unchanged: 0 });
    await eventually(async () => (await other.call('POST', '/developers/sms/quote', quote)).status === 400);
    expect((await post({ csv: FILE }, 'application/json')).body).toEqual({
      rows: 4,
      changed: 0,
      unchanged: 3,
    });
    const [columns, ...lines] = (await exported()).trimEnd().split('\r\n');
    expect(columns).toBe('channel,address,scope,reason,source,at');
    expect(lines.sort()).toEqual([
      'email,ann@example.com,all,Wrote; twice,import,AT',
      'sms,+256700000401,all,By phone,import,AT',
      'whatsapp,+256700000401,marketing,,import,AT',
    ]);
    const [entry, ...others] = (
      await graphql(gateway, '{ auditLog(first: 10) { nodes { action after } } }', { token })
    ).body.data.auditLog.nodes.filter(
      ({ action }: { action: string }) => action === 'account.importSuppressions',
    );
    expect([entry.after, others.length]).toEqual([{ environment: 'production', rows: 4, changed: 0 }, 1]);
  });

  it('name all faulty rows by their lines, and then suppress nothing (R383)', async () => {
    const { key } = await gateway.createAccount();
    const refused = await post(
      [
        'channel,address,scope,reason',
        'sms,0700000402,all,',
        'push,0700000402,all,',
        'sms,ann@example.com,some,',
        `email,ann@example.com,all,${'x'.repeat(201)}`,
      ].join('\n'),
      'text/csv',
      key,
    );
    expect([refused.status, refused.body.error.code]).toEqual([400, 'validation_error']);
    expect(fieldsOf(refused)).toEqual([
      { path: 'csv', message: 'line 3: channel must be sms, email, whatsapp' },
      { path: 'csv', message: 'line 4: scope must be marketing or all' },
      { path: 'csv', message: 'line 4: address must be a phone number in E.164' },
      { path: 'csv', message: 'line 5: reason must have at most 200 characters' },
    ]);
    expect((await gateway.call('GET', '/developers/suppressions', { key })).body.data).toEqual([]);
    const many = await post(`channel,address,scope\n${'sms,x,all\n'.repeat(30)}`, 'text/csv', key);
    expect(fieldsOf(many)).toHaveLength(20);
    expect(fieldsOf(many).at(-1).message).toBe('and 11 more faults in later lines');
  });

  it.each([
    ['', ['is empty']],
    ['channel,address,scope', ['has a header and no row below it']],
    [
      'channel,adress,scope\nsms,0700000402,all',
      [expect.stringContaining('"adress" is no column'), 'line 1: the column address is missing'],
    ],
    ['channel,address,scope,scope\nsms,0700000402,all,all', ['line 1: a column is there twice']],
    [
      `channel,address,scope\n${'sms,0700000402,all\n'.repeat(10_001)}`,
      ['has more than 10000 rows; import it in parts'],
    ],
  ])('refuse a file that is no such list: %.40j (R383)', async (csv, messages) => {
    const refused = await post({ csv }, 'application/json');
    expect(fieldsOf(refused).map(({ message }: { message: string }) => message)).toEqual(messages);
  });

  it('refuse other media types, bytes and scopes (R383)', async () => {
    expect((await post(FILE, 'text/plain')).status).toBe(415);
    expect((await post(FILE, 'text/csv; charset=latin1')).status).toBe(415);
    expect((await post(FILE, 'text/csv; charset=utf-8')).status).toBe(200);
    expect((await post('x'.repeat(1024 * 1024 + 1))).status).toBe(413);
    const { key } = await gateway.createKey(account.accountId, { scopes: ['READ_CONTACTS'] });
    expect((await post(FILE, 'text/csv', key)).status).toBe(403);
    expect((await gateway.call('GET', EXPORT, { key })).status).toBe(200);
  });

  it('widen what was narrower, and leave the rest alone (R383)', async () => {
    const { key } = await gateway.createAccount();
    for (const [address, scope] of [
      ['+256700000403', 'marketing'],
      ['+256700000404', 'all'],
    ]) {
      const body = { channel: 'sms', address, scope, reason: 'Asked' };
      expect((await gateway.call('POST', '/developers/suppressions', { key, body })).status).toBe(201);
    }
    const file = 'channel,address,scope\nsms,0700000403,all\nsms,0700000404,marketing\n';
    expect((await post(file, 'text/csv', key)).body).toEqual({ rows: 2, changed: 1, unchanged: 1 });
    expect(await exported(key)).toContain('sms,+256700000403,all,,import');
    expect(await exported(key)).toContain('sms,+256700000404,all,Asked,api');
  });

  it('are exported in parts that make one file, which can be imported (R384)', async () => {
    const { key, accountId } = await gateway.createAccount();
    const target = await gateway.createAccount();
    const body = { channel: 'email', address: '+tag@example.com', scope: 'all', reason: '=1+1, "quoted"' };
    await gateway.call('POST', '/developers/suppressions', { key, body });
    await using sql = await openSql(gateway.database);
    await sql.query(
      `INSERT INTO suppressions (id, account_id, created_at, environment, channel, scope, source, address)
       SELECT gen_random_uuid(), $1, now(), 'production', 'sms', 'all', 'api', '+25670' || (1000000 + n)
       FROM generate_series(1, 5004) n`,
      [accountId],
    );
    const first = await gateway.call('GET', EXPORT, { key });
    expect(first.headers.get('content-type')).toBe('text/csv; charset=utf-8');
    const link = /^<\/api\/v1(.+)>; rel="next"$/.exec(first.headers.get('link') ?? '')?.[1] ?? '';
    const last = await gateway.call('GET', link, { key });
    expect(last.headers.get('link')).toBeNull();
    const file = first.text + last.text;
    expect(file.match(/channel,address/g)).toHaveLength(1);
    expect(file).toContain(`email,'+tag@example.com,all,"'=1+1, ""quoted""",api`);
    expect((await post(file, 'text/csv', target.key)).body).toEqual({
      rows: 5005,
      changed: 5005,
      unchanged: 0,
    });
    const listed = await gateway.call('GET', '/developers/suppressions?channel=email', { key: target.key });
    expect(listed.body.data).toMatchObject([
      { address: body.address, reason: body.reason, source: 'import' },
    ]);
    const json = await gateway.call('GET', EXPORT, { key, headers: { Accept: 'application/json' } });
    expect(json.body).toEqual({ csv: first.text, nextAfter: expect.any(String) });
    expect((await gateway.call('GET', `${EXPORT}?after=x`, { key })).status).toBe(400);
  });

  it('hold in the environment of the key (R200, R383)', async () => {
    expect((await post(FILE, 'text/csv', account.sandboxKey)).body.changed).toBe(3);
    const { key } = await gateway.createAccount();
    expect(await exported(key)).toBe('channel,address,scope,reason,source,at\r\n');
  });

  it('are taken and given by GraphQL too (R383, R384)', async () => {
    const someone = await gateway.createAccount();
    const session = { token: await signIn(gateway, someone) };
    const importing = (more = '') =>
      graphql(
        gateway,
        `mutation ($csv: String!) { importSuppressions(csv: $csv${more}) { rows changed unchanged } }`,
        { ...session, variables: { csv: FILE } },
      );
    expect((await importing(', dryRun: true')).body.data.importSuppressions.changed).toBe(3);
    expect((await importing()).body.data.importSuppressions).toEqual({ rows: 4, changed: 3, unchanged: 0 });
    const exporting = (input = '') =>
      graphql(gateway, `mutation { exportSuppressions${input} { csv nextAfter } }`, session);
    expect((await exporting()).body.data.exportSuppressions).toEqual({
      csv: (await gateway.call('GET', EXPORT, { key: someone.key })).text,
      nextAfter: null,
    });
    expect(codesOf(await exporting('(after: "x")'))).toEqual(['BAD_USER_INPUT']);
  });

  it('are given to a person only after a step-up, in every part (R253, R384)', async () => {
    const someone = await gateway.createAccount();
    const session = { token: await signIn(gateway, someone) };
    await using sql = await openSql(gateway.database);
    await sql.query(
      `UPDATE sessions SET verified_at = now() - interval '11 minutes'
       WHERE user_id = (SELECT id FROM users WHERE email = $1)`,
      [someone.email],
    );
    await sql.query(`SELECT pg_notify('gateway_changes', 'session *')`);
    const exporting = (after = '') =>
      graphql(gateway, `mutation { exportSuppressions${after} { csv nextAfter } }`, session);
    await eventually(async () => String(codesOf(await exporting())) === 'STEP_UP_REQUIRED');
    const later = `(after: "${crypto.randomUUID()}")`;
    expect(codesOf(await exporting(later))).toEqual(['STEP_UP_REQUIRED']);
    const stepUp = 'mutation ($password: String) { stepUp(password: $password) }';
    await graphql(gateway, stepUp, { ...session, variables: { password: someone.password } });
    expect((await exporting()).body.data.exportSuppressions.nextAfter).toBeNull();
    expect((await exporting(later)).body.data.exportSuppressions.csv).toBe('');
    // Each part is in the audit log: a part after the greatest id has everything.
    const audit = '{ auditLog(filter: { action: "account.startExport" }) { nodes { after } } }';
    const { nodes } = (await graphql(gateway, audit, session)).body.data.auditLog;
    expect(nodes.map(({ after }: { after: { filters: string[] } }) => after.filters)).toEqual([
      ['after'],
      [],
    ]);
  });
});
