import { symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { baseUrlOf } from '../../src/config/base-url.ts';
import { ConfigError, parseConfig } from '../../src/config/config.ts';
import { runCliHere } from '../support/cli.ts';
import { buildWorkplace, startServer, type Workplace } from '../support/server-process.ts';
import { mayMount, mountDisk } from '../support/small-disk.ts';

// Time limit of a test in ms. Some tests start processes, which takes long on a busy machine.
jest.setTimeout(180_000);

const KEY = Buffer.alloc(32, 1).toString('base64');

let workplace: Workplace;
beforeAll(async () => {
  workplace = await buildWorkplace();
});
afterAll(() => workplace.remove());

const newDisk = async (size: string) => mountDisk(await workplace.directory('disk'), size);

function faultOf(variables: Record<string, string>): string {
  try {
    parseConfig(variables);
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError);
    return (error as Error).message;
  }
  throw new Error(`${JSON.stringify(variables)} was accepted`);
}

describe('defaults (R241)', () => {
  const names = [
    ...['PORT', 'HOST', 'DATABASE_URL', 'DATA_DIR', 'MASTER_KEY', 'MASTER_KEY_PREVIOUS', 'NODE_ENV', 'ROLES'],
    ...['PUBLIC_URL', 'TRUST_PROXY', 'SERVICE_NAME', 'DEFAULT_SENDER_ID', 'RATE_LIMIT_PER_MINUTE'],
    ...['RATE_LIMIT_PER_SECOND', 'RATE_LIMIT_WEBHOOKS_PER_MINUTE', 'SMS_ROUTES', 'WEBHOOK_ALLOWED_NETWORKS'],
    'RATE_LIMIT_SESSION_PER_MINUTE',
    ...['RATE_LIMIT_POINTS_PER_MINUTE', 'CORS_ORIGINS'],
    ...['METRICS_TOKEN', 'LOG_LEVEL', 'MASTER_KEY_LOST', 'REPORT_SPOOL_MB'],
    'DATABASE_POOL_SIZE',
  ];

  it('equal the documented ones', () => {
    expect(parseConfig({})).toMatchObject({
      port: 3000,
      host: '127.0.0.1',
      databaseUrl: undefined,
      dataDir: '.data',
      masterKey: undefined,
      previousMasterKeys: [],
      lostMasterKeys: [],
      isProduction: false,
      isApi: true,
      isWorker: true,
      publicUrl: undefined,
      trustProxy: [],
      serviceName: 'Service',
      defaultSenderId: 'SERVICE',
      rateLimits: {
        perMinute: 100,
        perSecond: 0,
        webhooksPerMinute: 20,
        sessionPerMinute: 600,
        pointsPerMinute: 30_000,
      },
      databasePoolSize: 12,
      reportSpoolMb: 64,
      smsRoutes: [{ prefix: '', urls: ['simulator:'] }],
      emailUrls: ['simulator:'],
      emailFrom: 'no-reply@localhost',
      webhookAllowedNetworks: [],
      metricsToken: undefined,
    });
  });

  it('apply to an empty variable', () => {
    expect(parseConfig(Object.fromEntries(names.map((name) => [name, ''])))).toEqual(parseConfig({}));
  });

  it('include no simulator in production: it must be configured (R242)', () => {
    const production = { NODE_ENV: 'production', DATABASE_URL: 'postgres://db/gateway', MASTER_KEY: KEY };
    expect(parseConfig(production)).toMatchObject({ smsRoutes: [], emailUrls: [] });
    expect(parseConfig({ ...production, EMAIL_URL: 'simulator:' }).emailUrls).toEqual(['simulator:']);
    expect(parseConfig({ ...production, SMS_ROUTES: '*=simulator:' }).smsRoutes).toEqual([
      { prefix: '', urls: ['simulator:'] },
    ]);
  });
});

describe('values', () => {
  it('are parsed as documented', () => {
    expect(
      parseConfig({
        ROLES: 'worker',
        PUBLIC_URL: 'https://sms.example.com/',
        TRUST_PROXY: '10.0.0.0/8, ::1',
        MASTER_KEY: KEY,
        MASTER_KEY_PREVIOUS: `${KEY},${KEY}`,
        MASTER_KEY_LOST: '0123abcd, 89ef4567',
        SMS_ROUTES: '256=smpp://id:pw@a:2775?window=50|simulator:,+2567=simulator:,*=smpps://id:pw@b',
        EMAIL_URL: 'smtp://u:p,w@a:587|smtps://b',
        EMAIL_FROM: 'ACME <mail@Example.com>',
        RATE_LIMIT_POINTS_PER_MINUTE: '1000000000',
      }),
    ).toMatchObject({
      isApi: false,
      isWorker: true,
      publicUrl: 'https://sms.example.com',
      trustProxy: ['10.0.0.0/8', '::1'],
      masterKey: Buffer.alloc(32, 1),
      previousMasterKeys: [Buffer.alloc(32, 1), Buffer.alloc(32, 1)],
      lostMasterKeys: ['0123abcd', '89ef4567'],
      smsRoutes: [
        { prefix: '256', urls: ['smpp://id:pw@a:2775?window=50', 'simulator:'] },
        { prefix: '2567', urls: ['simulator:'] },
        { prefix: '', urls: ['smpps://id:pw@b'] },
      ],
      emailUrls: ['smtp://u:p,w@a:587', 'smtps://b'],
      emailFrom: '"ACME" <mail@example.com>',
      rateLimits: { pointsPerMinute: 1_000_000_000 },
    });
  });

  it.each([
    ['0.0.0.0', 'http://0.0.0.0:3000'],
    ['localhost', 'http://localhost:3000'],
    ['gw-1.my_net.example.', 'http://gw-1.my_net.example.:3000'],
    ['::', 'http://[::]:3000'],
    ['fe80::1%eth0', 'http://[fe80::1]:3000'],
  ])('HOST=%s is reached at %s unless PUBLIC_URL is set', (host, url) => {
    expect(baseUrlOf(parseConfig({ HOST: host }))).toBe(url);
    expect(new URL(url).port).toBe('3000');
    expect(baseUrlOf(parseConfig({ HOST: host, PUBLIC_URL: 'https://sms.example.com:8443/a/@b/' }))).toBe(
      'https://sms.example.com:8443/a/@b',
    );
  });
});

describe('a bad value (R241)', () => {
  it.each([
    ['PORT', '65536', 'is "65536", but must be a whole number from 0 to 65535'],
    ['PORT', '3000x', 'is "3000x", but must be a whole number from 0 to 65535'],
    [
      'HOST',
      '999.1.1.1',
      'is "999.1.1.1", but must be an address or a host name without a port, such as 127',
    ],
    ['HOST', '127.0.0.1:3000', 'is "127.0.0.1:3000", but must be an address or a host name without a port'],
    ['HOST', '[::1]', 'is "[::1]", but must be an address or a host name'],
    ['HOST', 'my host', 'is "my host", but must be an address or a host name'],
    ['DATABASE_URL', 'mysql://db', 'must be an address such as postgres://user:password@host:5432/database'],
    ['MASTER_KEY', 'c2hvcnQ=', 'must be 32 bytes in base64; make one with: openssl rand -base64 32'],
    ['MASTER_KEY', `${KEY.slice(0, 20)}!${KEY.slice(20)}`, 'must be 32 bytes in base64'],
    ['MASTER_KEY_PREVIOUS', `${KEY},c2hvcnQ=`, 'must be 32 bytes in base64'],
    ['MASTER_KEY_LOST', KEY, 'must be a comma list of the names that a refused start gives to keys'],
    ['NODE_ENV', 'prod', 'is "prod", but must be development, production or test'],
    [
      'QUIET_HOURS',
      '256=20:00-08:00 Africa/Kampla',
      'is "256=20:00-08:00 Africa/Kampla", but must be none, or a comma list of PREFIX=FROM-TO ZONE, such as 256=20:00-08:00 Africa/Kampala; "256=20:00-08:00 Africa/Kampla" has the unknown time zone Africa/Kampla.',
    ],
    [
      'QUIET_HOURS',
      '256=20:00-08:00 UTC,+256=21:00-07:00 UTC',
      'is "256=20:00-08:00 UTC,+256=21:00-07:00 UTC", but must be none, or a comma list of PREFIX=FROM-TO ZONE, such as 256=20:00-08:00 Africa/Kampala; 256 is there twice.',
    ],
    ['QUIET_HOURS', ',', 'is ",", but must be none, or a comma list of PREFIX=FROM-TO ZONE'],
    ['ROLES', 'api,cook', 'is "api,cook", but must be api, worker or api,worker'],
    ['ROLES', ',', 'is ",", but must be api, worker or api,worker'],
    [
      'PUBLIC_URL',
      'example.com',
      'is "example.com", but must be an address such as https://gateway.example.com',
    ],
    ...['https://x.example/?a=b#c', 'https://x.example#c', 'https://x.example/a b', 'ftp://x.example'].map(
      (url) => ['PUBLIC_URL', url, `is "${url}", but must be an address such as https://`] as const,
    ),
    [
      'PUBLIC_URL',
      'https://me:hunter2@x.example',
      'is "https://…@x.example", but must be an address such as',
    ],
    [
      'WHATSAPP_URL',
      'https://x.example/v23.0?a=b',
      'is "https://x.example/v23.0?a=b", but must be an address',
    ],
    ['TRUST_PROXY', '10.0.0.0/33', 'is "10.0.0.0/33", but must be a comma list of CIDRs such as 10.0.0.0/8'],
    ['SERVICE_NAME', 'My Shop', 'is "My Shop", but must be letters and digits'],
    [
      'BRAND_NAME',
      'a'.repeat(41),
      `is "${'a'.repeat(41)}", but must have 1 to 40 characters, without line breaks`,
    ],
    ['BRAND_ACCENT', 'blue', 'is "blue", but must be a colour such as #2257c5'],
    [
      'BRAND_ACCENT',
      '#ff9900',
      'is "#ff9900", but has a contrast of 2.14 against white text and needs 4.5; choose a darker colour, such as #2257c5',
    ],
    ['DEFAULT_SENDER_ID', 'TOO-LONG-BY-FAR', 'is "TOO-LONG-BY-FAR", but must be 1 to 11 letters or digits'],
    ['RATE_LIMIT_PER_MINUTE', '0', 'is "0", but must be a whole number from 1 to 1000000'],
    [
      'CORS_ORIGINS',
      '*',
      'is "*", but must be a comma list of origins such as https://dashboard.example.com, without a path or *',
    ],
    [
      'CORS_ORIGINS',
      'https://a.example/',
      'is "https://a.example/", but must be a comma list of origins such as https://dashboard.example.com, without a path or *',
    ],
    [
      'CORS_ORIGINS',
      'a.example',
      'is "a.example", but must be a comma list of origins such as https://dashboard.example.com, without a path or *',
    ],
    [
      'CORS_ORIGINS',
      'https://A.example',
      'is "https://A.example", but must be a comma list of origins such as https://dashboard.example.com, without a path or *',
    ],
    ['DATABASE_POOL_SIZE', '3', 'is "3", but must be a whole number from 4 to 100'],
    ['RATE_LIMIT_PER_SECOND', '-1', 'is "-1", but must be a whole number from 0 to 1000000'],
    ['RATE_LIMIT_SESSION_PER_MINUTE', '0', 'is "0", but must be a whole number from 1 to 1000000'],
    [
      'RATE_LIMIT_POINTS_PER_MINUTE',
      '1000000001',
      'is "1000000001", but must be a whole number from 1 to 1000000000',
    ],
    ['RATE_LIMIT_WEBHOOKS_PER_MINUTE', '1.5', 'is "1.5", but must be a whole number from 1 to 1000000'],
    ['SMS_ROUTES', '*=carrier-pigeon:', 'must be a comma list of PREFIX=URL[|URL…]'],
    ['SMS_ROUTES', '*=simulator:foo', 'must be a comma list of PREFIX=URL[|URL…]'],
    ['SMS_ROUTES', 'simulator:', 'must be a comma list of PREFIX=URL[|URL…]'],
    [
      'SMS_ROUTES',
      '*=simulator:,+256=simulator:,256=smpp://id:pw@host',
      'must name each prefix once, with | between its URLs; 256 is there twice',
    ],
    [
      'SMS_ROUTES',
      '*=simulator:,*=simulator:',
      'must name each prefix once, with | between its URLs; * is there',
    ],
    [
      'EMAIL_URL',
      'mail.example.com',
      'must be simulator:, or addresses such as smtp://user:password@host:587',
    ],
    ['EMAIL_URL', 'smtp://a|', 'must be simulator:'],
    ['EMAIL_FROM', 'nobody', 'is "nobody", but must be an address such as no-reply@example.com'],
    ['WEBHOOK_ALLOWED_NETWORKS', 'localhost', 'is "localhost", but must be a comma list of CIDRs'],
    [
      'WHATSAPP_TOKEN',
      'abc\ndef',
      'must be letters, digits and signs of ASCII, without spaces or line breaks',
    ],
    ['METRICS_TOKEN', 'é x', 'must be letters, digits and signs of ASCII'],
    ['METRICS_TOKEN', 'two words', 'must be letters, digits and signs of ASCII'],
    ['APNS_TOPIC', 'com.example\n', 'is "com.example\\n", but must be letters, digits and signs of ASCII'],
    ['LOG_LEVEL', 'loud', 'is "loud", but must be debug, info, warn, error or silent'],
  ])('%s=%s gives one message with variable, fault and fix', (name, value, message) => {
    const fault = faultOf({ [name]: value });
    expect(fault.split('\n')).toHaveLength(1);
    expect(fault.startsWith(`${name} ${message}`)).toBe(true);
  });

  it('never shows a secret', () => {
    const secrets = {
      DATABASE_URL: 'hunter2',
      MASTER_KEY: 'hunter2',
      SMS_ROUTES: '1=x://id:hunter2@h',
      EMAIL_URL: 'x://hunter2',
    };
    const fault = faultOf({ ...secrets, MASTER_KEY_PREVIOUS: 'hunter2', MASTER_KEY_LOST: 'hunter2' });
    expect(fault.split('\n')).toHaveLength(6);
    expect(fault).not.toContain('hunter2');
  });

  it('of several variables gives one line for each', () => {
    const lines = faultOf({ PORT: 'x', LOG_LEVEL: 'x', ROLES: 'x,y' }).split('\n');
    expect(lines.map((line) => line.split(' ')[0]).sort()).toEqual(['LOG_LEVEL', 'PORT', 'ROLES']);
  });

  it('in production includes what is missing (R242)', () => {
    expect(faultOf({ NODE_ENV: 'production' })).toBe(
      'DATABASE_URL is required when NODE_ENV is production, such as postgres://user:password@host:5432/db.\n' +
        'MASTER_KEY is required when NODE_ENV is production; make one with: openssl rand -base64 32.',
    );
  });
});

describe('a setting that is found bad only when it is used', () => {
  async function faultWith(variables: Record<string, string>): Promise<string> {
    const { code, stdout, stderr } = await runCliHere(['migrate'], variables);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^[^\n]+\n$/);
    return stderr.trimEnd();
  }

  it.each([
    ['a port that is none', 'postgres://user:hunter2@127.0.0.1:99999/x'],
    ['a # in the password', 'postgres://user:hunter2#@127.0.0.1/x'],
    ['a % that encodes no UTF-8', 'postgres://user:hunter2@127.0.0.1/x%E0'],
  ])('DATABASE_URL with %s is named, with the fix', async (_, url) => {
    expect(await faultWith({ MASTER_KEY: KEY, DATABASE_URL: url, DATA_DIR: workplace.path })).toBe(
      'DATABASE_URL cannot be used: it must be an address such as postgres://user:password@host:5432/database, ' +
        'with % and two hex digits for what an address cannot hold, such as %23 for #.',
    );
  });

  it.each([
    ['?sslrootcert=/nowhere/ca.pem', "ENOENT: no such file or directory, open '/nowhere/ca.pem'."],
    ['?port=none', 'its port must be a whole number from 0 to 65535.'],
  ])('DATABASE_URL with %s is named', async (parameters, why) => {
    const url = `postgres://user:hunter2@127.0.0.1/x${parameters}`;
    expect(await faultWith({ MASTER_KEY: KEY, DATABASE_URL: url, DATA_DIR: workplace.path })).toBe(
      `DATABASE_URL cannot be used: ${why}`,
    );
  });

  it.each(['', '?callbackToken='])(
    "SMS_ROUTES with Africa's Talking is named in production, where its callbacks need a token (%j)",
    async (query) => {
      const settings = {
        NODE_ENV: 'production',
        MASTER_KEY: KEY,
        DATABASE_URL: 'postgres://127.0.0.1:1/x',
        DATA_DIR: workplace.path,
      };
      const route = (parameters: string) => ({
        SMS_ROUTES: `*=africastalking://acme:hunter2@api.example${parameters}`,
      });
      expect(await faultWith({ ...settings, ...route(query) })).toBe(
        'SMS_ROUTES cannot be used: callbacks of africastalking:acme@api.example carry no proof of their sender: anybody ' +
          'can send its delivery reports; add ?callbackToken=SECRET to its URL, and ?token=SECRET to the callback URL at ' +
          'the carrier.',
      );
      // With a master key, the settings are accepted. The start then fails because there is no database.
      expect(await faultWith({ ...settings, ...route('?callbackToken=t0ken') })).not.toContain('SMS_ROUTES');
    },
  );

  it.each([['a master key is to be made in'], ['a database is to be made in']])(
    'DATA_DIR is named when %s is not a directory',
    async (what) => {
      const directory = await workplace.directory('data');
      const file = join(directory, 'file');
      await writeFile(file, '');
      const dangling = join(directory, 'dangling');
      await symlink(join(directory, 'gone', 'away'), dangling);
      const others: Record<string, string> = what.includes('key') ? {} : { MASTER_KEY: KEY };
      for (const dataDir of [file, join(file, 'below'), dangling]) {
        const fault = await faultWith({ ...others, DATA_DIR: dataDir });
        expect(fault).toContain(
          `DATA_DIR is "${dataDir}", but must be a directory that can be made, or read and written by this user (E`,
        );
      }
    },
  );

  (mayMount ? it : it.skip)('DATA_DIR is named, with the required room, when its disk is full', async () => {
    for (const others of [{}, { MASTER_KEY: KEY }] as Record<string, string>[]) {
      await using disk = await newDisk('5m');
      expect(await faultWith({ ...others, DATA_DIR: disk.path })).toBe(
        `DATA_DIR is "${disk.path}", but no room is left in ${disk.path} (4 MB are free). A new gateway takes 60 MB ` +
          'there, and one in use up to 1 GB more than its data. Make room, or move the directory to a larger disk ' +
          'and set DATA_DIR to where it is then.',
      );
    }
    await using disk = await newDisk('90m');
    expect((await runCliHere(['migrate'], { DATA_DIR: disk.path })).code).toBe(0);
    const { code, stdout } = await runCliHere(['doctor'], { DATA_DIR: disk.path });
    expect(code).toBe(1);
    expect(stdout).toMatch(
      /^FAIL {2}database .*, but only \d\d MB are free in .*: free some space there\nok {4}queue /,
    );
    await expect(writeFile(join(disk.path, 'fill'), Buffer.alloc(100 * 2 ** 20))).rejects.toThrow('ENOSPC');
    expect(await faultWith({ DATA_DIR: disk.path })).toContain('(0 MB are free)');
  });

  it('FCM_CREDENTIALS and APNS_KEY are named when they are not files', async () => {
    const start = { MASTER_KEY: KEY, DATA_DIR: workplace.path };
    const apns = { APNS_KEY_ID: 'k', APNS_TEAM_ID: 't', APNS_TOPIC: 'x' };
    expect(await faultWith({ ...start, FCM_CREDENTIALS: workplace.path })).toBe(
      'FCM_CREDENTIALS cannot be used: the file cannot be read (EISDIR).',
    );
    const pasted = 'hunter2'.repeat(1_000);
    expect(await faultWith({ ...start, ...apns, APNS_KEY: pasted })).toBe(
      'APNS_KEY cannot be used: the file cannot be read (ENAMETOOLONG).',
    );
  });
});

describe('.env (R241)', () => {
  async function faultWith(env: string | Buffer, variables: Record<string, string>): Promise<string> {
    const cwd = await workplace.directory('env');
    await writeFile(join(cwd, '.env'), env);
    const { code, stderr } = await startServer(workplace, variables, cwd).finished;
    expect(code).toBe(1);
    return stderr;
  }

  it('is read', async () => {
    expect(await faultWith('# mine\nLOG_LEVEL=loud\nROLES="cook"\n', {})).toBe(
      'Cannot start:\nROLES is "cook", but must be api, worker or api,worker.\n' +
        'LOG_LEVEL is "loud", but must be debug, info, warn, error or silent.\n',
    );
  });

  it('is read with a byte order mark too, and overridden by the environment', async () => {
    const fault = await faultWith('\uFEFFLOG_LEVEL=loud\nROLES=cook\n', { ROLES: 'baker' });
    expect(fault).toContain('ROLES is "baker"');
    expect(fault).toContain('LOG_LEVEL is "loud"');
  });

  it('is refused when it is not UTF-8', async () => {
    expect(await faultWith(Buffer.from('\uFEFFLOG_LEVEL=loud\n', 'utf16le'), {})).toBe(
      'Cannot start:\n.env cannot be read: it must be text in UTF-8.\n',
    );
  });
});
