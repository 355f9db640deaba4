import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { ConfigError, parseConfig } from '../../src/config.ts';
import { buildWorkplace, startServer, type Workplace } from '../support/server-process.ts';

// Each test starts processes of its own, which takes long on a busy machine.
jest.setTimeout(180_000);

const KEY = Buffer.alloc(32, 1).toString('base64');

function faultOf(variables: Record<string, string>): string {
  try {
    parseConfig(variables);
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError);
    return (error as Error).message;
  }
  throw new Error(`${JSON.stringify(variables)} was accepted`);
}

describe('defaults', () => {
  const names = [
    ...['PORT', 'HOST', 'DATABASE_URL', 'DATA_DIR', 'MASTER_KEY', 'MASTER_KEY_PREVIOUS', 'NODE_ENV', 'ROLES'],
    ...['PUBLIC_URL', 'TRUST_PROXY', 'SERVICE_NAME', 'DEFAULT_SENDER_ID', 'RATE_LIMIT_PER_MINUTE'],
    ...['RATE_LIMIT_PER_SECOND', 'RATE_LIMIT_WEBHOOKS_PER_MINUTE', 'SMS_ROUTES', 'WEBHOOK_ALLOWED_NETWORKS'],
    ...['METRICS_TOKEN', 'LOG_LEVEL'],
  ];

  it('are those of the documentation', () => {
    expect(parseConfig({})).toMatchObject({
      port: 3000,
      host: '127.0.0.1',
      databaseUrl: undefined,
      dataDir: '.data',
      masterKey: undefined,
      previousMasterKeys: [],
      isProduction: false,
      isApi: true,
      isWorker: true,
      publicUrl: undefined,
      trustProxy: [],
      serviceName: 'Service',
      defaultSenderId: 'SERVICE',
      rateLimits: { perMinute: 100, perSecond: 0, webhooksPerMinute: 20 },
      smsRoutes: [{ prefix: '', urls: ['simulator:'] }],
      emailUrls: ['simulator:'],
      emailFrom: 'no-reply@localhost',
      webhookAllowedNetworks: [],
      metricsToken: undefined,
    });
  });

  it('hold where a variable is empty', () => {
    expect(parseConfig(Object.fromEntries(names.map((name) => [name, ''])))).toEqual(parseConfig({}));
  });

  it('give no simulator in production, where it must be named', () => {
    const production = { NODE_ENV: 'production', DATABASE_URL: 'postgres://db/gateway', MASTER_KEY: KEY };
    expect(parseConfig(production)).toMatchObject({ smsRoutes: [], emailUrls: [] });
    expect(parseConfig({ ...production, EMAIL_URL: 'simulator:' }).emailUrls).toEqual(['simulator:']);
    expect(parseConfig({ ...production, SMS_ROUTES: '*=simulator:' }).smsRoutes).toEqual([
      { prefix: '', urls: ['simulator:'] },
    ]);
  });
});

describe('values', () => {
  it('are read as documented', () => {
    expect(
      parseConfig({
        ROLES: 'worker',
        PUBLIC_URL: 'https://sms.example.com/',
        TRUST_PROXY: '10.0.0.0/8, ::1',
        MASTER_KEY: KEY,
        MASTER_KEY_PREVIOUS: `${KEY},${KEY}`,
        SMS_ROUTES: '256=smpp://id:pw@a:2775?window=50|simulator:,+2567=simulator:,*=smpps://id:pw@b',
        EMAIL_URL: 'smtp://u:p,w@a:587|smtps://b',
        EMAIL_FROM: 'ACME <mail@Example.com>',
      }),
    ).toMatchObject({
      isApi: false,
      isWorker: true,
      publicUrl: 'https://sms.example.com',
      trustProxy: ['10.0.0.0/8', '::1'],
      masterKey: Buffer.alloc(32, 1),
      previousMasterKeys: [Buffer.alloc(32, 1), Buffer.alloc(32, 1)],
      smsRoutes: [
        { prefix: '256', urls: ['smpp://id:pw@a:2775?window=50', 'simulator:'] },
        { prefix: '2567', urls: ['simulator:'] },
        { prefix: '', urls: ['smpps://id:pw@b'] },
      ],
      emailUrls: ['smtp://u:p,w@a:587', 'smtps://b'],
      emailFrom: '"ACME" <mail@example.com>',
    });
  });
});

describe('a bad value', () => {
  it.each([
    ['PORT', '65536', 'is "65536", but must be a whole number from 0 to 65535'],
    ['PORT', '3000x', 'is "3000x", but must be a whole number from 0 to 65535'],
    ['DATABASE_URL', 'mysql://db', 'must be an address such as postgres://user:password@host:5432/database'],
    ['MASTER_KEY', 'c2hvcnQ=', 'must be 32 bytes in base64; make one with: openssl rand -base64 32'],
    ['MASTER_KEY', `${KEY.slice(0, 20)}!${KEY.slice(20)}`, 'must be 32 bytes in base64'],
    ['MASTER_KEY_PREVIOUS', `${KEY},c2hvcnQ=`, 'must be 32 bytes in base64'],
    ['NODE_ENV', 'prod', 'is "prod", but must be development, production or test'],
    ['ROLES', 'api,cook', 'is "api,cook", but must be api, worker or api,worker'],
    ['ROLES', ',', 'is ",", but must be api, worker or api,worker'],
    [
      'PUBLIC_URL',
      'example.com',
      'is "example.com", but must be an address such as https://gateway.example.com',
    ],
    ['TRUST_PROXY', '10.0.0.0/33', 'is "10.0.0.0/33", but must be a comma list of CIDRs such as 10.0.0.0/8'],
    ['SERVICE_NAME', 'My Shop', 'is "My Shop", but must be letters and digits'],
    ['DEFAULT_SENDER_ID', 'TOO-LONG-BY-FAR', 'is "TOO-LONG-BY-FAR", but must be 1 to 11 letters or digits'],
    ['RATE_LIMIT_PER_MINUTE', '0', 'is "0", but must be a whole number from 1 to 1000000'],
    ['RATE_LIMIT_PER_SECOND', '-1', 'is "-1", but must be a whole number from 0 to 1000000'],
    ['RATE_LIMIT_WEBHOOKS_PER_MINUTE', '1.5', 'is "1.5", but must be a whole number from 1 to 1000000'],
    ['SMS_ROUTES', '*=carrier-pigeon:', 'must be a comma list of PREFIX=URL[|URL…]'],
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
    ['LOG_LEVEL', 'loud', 'is "loud", but must be debug, info, warn, error or silent'],
  ])('%s=%s is one message with variable, fault and fix', (name, value, message) => {
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
    const fault = faultOf({ ...secrets, MASTER_KEY_PREVIOUS: 'hunter2' });
    expect(fault.split('\n')).toHaveLength(5);
    expect(fault).not.toContain('hunter2');
  });

  it('of several variables is one line each', () => {
    const lines = faultOf({ PORT: 'x', LOG_LEVEL: 'x', ROLES: 'x,y' }).split('\n');
    expect(lines.map((line) => line.split(' ')[0]).sort()).toEqual(['LOG_LEVEL', 'PORT', 'ROLES']);
  });

  it('in production is also what is missing', () => {
    expect(faultOf({ NODE_ENV: 'production' })).toBe(
      'DATABASE_URL is required when NODE_ENV is production, such as postgres://user:password@host:5432/db.\n' +
        'MASTER_KEY is required when NODE_ENV is production; make one with: openssl rand -base64 32.',
    );
  });
});

describe('.env', () => {
  let workplace: Workplace;
  beforeAll(async () => {
    workplace = await buildWorkplace();
  });
  afterAll(() => workplace.remove());

  async function faultWith(env: string, variables: Record<string, string>): Promise<string> {
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

  it('gives way to the environment', async () => {
    const fault = await faultWith('LOG_LEVEL=loud\nROLES=cook\n', { ROLES: 'baker' });
    expect(fault).toContain('ROLES is "baker"');
    expect(fault).toContain('LOG_LEVEL is "loud"');
  });
});
