import { readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { z } from 'zod';
import { RATE_LIMIT_MAX } from '../domain/api-keys/api-key-rules.ts';
import { ALL_SLOTS } from '../domain/cells/slots.ts';
import { QuietHours } from '../domain/messages/quiet-hours.ts';
import { parseSenderId } from '../domain/messages/sender-id.ts';
import {
  bounceDomain,
  brandAccent,
  brandName,
  cidrs,
  dkimDomain,
  dkimSelector,
  dnsServers,
  emailUrls,
  headerName,
  headerText,
  httpUrl,
  list,
  listenHost,
  mailbox,
  masterKey,
  masterKeyNames,
  origins,
  quietTimes,
  share,
  slots,
  smsRoutes,
  whole,
} from './config-formats.ts';

/** A setting cannot be used. The message names the variable, its fault and a valid value. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

/**
 * Greatest number of points per minute. The database adds the points of waiting requests to this number, and the sum
 * must fit its integer type.
 */
const POINTS_MAX = 1_000_000_000;
const ROLES_RULE = 'must be api, worker or api,worker';

const databaseAddress = z.string().regex(/^postgres(ql)?:\/\//, {
  error: 'must be an address such as postgres://user:password@host:5432/database',
});

const variables = z.object({
  PORT: whole(0, 65_535).default(3000),
  HOST: listenHost.default('127.0.0.1'),
  DATABASE_URL: databaseAddress.optional(),
  DATABASE_READ_URL: databaseAddress.optional(),
  CELL_SLOTS: slots.default(ALL_SLOTS),
  DATA_DIR: z.string().default('.data'),
  RECOVERY: z.enum(['hold'], { error: 'must be hold, or not set' }).optional(),
  MASTER_KEY: masterKey.optional(),
  MASTER_KEY_PREVIOUS: z.string().transform(list).pipe(z.array(masterKey)).default([]),
  MASTER_KEY_LOST: masterKeyNames.default([]),
  NODE_ENV: z
    .enum(['development', 'production', 'test'], { error: 'must be development, production or test' })
    .default('development'),
  ROLES: z
    .string()
    .transform(list)
    .pipe(z.array(z.enum(['api', 'worker'], { error: ROLES_RULE })).min(1, { error: ROLES_RULE }))
    .default(['api', 'worker']),
  PUBLIC_URL: httpUrl.optional(),
  TRUST_PROXY: cidrs.default([]),
  COUNTRY_DATABASE: z.string().optional(),
  COUNTRY_HEADER: headerName.optional(),
  CORS_ORIGINS: origins.default([]),
  GRAPHQL_DOCUMENTS: z.string().optional(),
  SERVICE_NAME: z
    .string()
    .regex(/^[A-Za-z][A-Za-z0-9]{0,30}$/, {
      error: 'must be letters and digits, as it is part of header names',
    })
    .default('Service'),
  BRAND_NAME: brandName.optional(),
  BRAND_LOGO: z.string().optional(),
  BRAND_ACCENT: brandAccent.optional(),
  DEFAULT_SENDER_ID: z
    .string()
    .refine((text) => parseSenderId(text) !== undefined, { error: 'must be 1 to 11 letters or digits' })
    .default('SERVICE'),
  SENDER_POLICY: z.enum(['open', 'approved'], { error: 'must be open or approved' }).optional(),
  PUMPING_WATCH: z.enum(['on', 'off'], { error: 'must be on or off' }).optional(),
  QUIET_HOURS: quietTimes.prefault('256=20:00-08:00 Africa/Kampala'),
  RATE_LIMIT_PER_MINUTE: whole(1, RATE_LIMIT_MAX).default(100),
  RATE_LIMIT_PER_SECOND: whole(0, RATE_LIMIT_MAX).default(0),
  RATE_LIMIT_WEBHOOKS_PER_MINUTE: whole(1, RATE_LIMIT_MAX).default(20),
  RATE_LIMIT_SESSION_PER_MINUTE: whole(1, RATE_LIMIT_MAX).default(600),
  RATE_LIMIT_POINTS_PER_MINUTE: whole(1, POINTS_MAX).default(30_000),
  DATABASE_POOL_SIZE: whole(4, 100).default(12),
  REPORT_SPOOL_MB: whole(0, 10_240).default(64),
  SMS_ROUTES: smsRoutes.optional(),
  EMAIL_URL: emailUrls.optional(),
  EMAIL_FROM: mailbox.default('no-reply@localhost'),
  DKIM_DOMAIN: dkimDomain.optional(),
  DKIM_SELECTOR: dkimSelector.optional(),
  DKIM_KEY: z.string().optional(),
  BOUNCE_DOMAIN: bounceDomain.optional(),
  BOUNCE_PORT: whole(0, 65_535).optional(),
  BOUNCE_HOST: listenHost.optional(),
  BOUNCE_TLS_CERT: z.string().optional(),
  BOUNCE_TLS_KEY: z.string().optional(),
  FCM_CREDENTIALS: z.string().optional(),
  FCM_URL: httpUrl.optional(),
  APNS_KEY: z.string().optional(),
  APNS_KEY_ID: z.string().optional(),
  APNS_TEAM_ID: z.string().optional(),
  APNS_TOPIC: headerText.optional(),
  APNS_URL: httpUrl.optional(),
  VAPID_PUBLIC_KEY: z.string().optional(),
  VAPID_PRIVATE_KEY: z.string().optional(),
  VAPID_SUBJECT: z
    .string()
    .regex(/^(mailto:[^\s@]+@[^\s@]+|https:\/\/\S+)$/, {
      error: 'must be an address such as mailto:ops@example.com or https://example.com',
    })
    .optional(),
  WHATSAPP_URL: httpUrl.optional(),
  WHATSAPP_PHONE_NUMBER_ID: z.string().optional(),
  WHATSAPP_TOKEN: headerText.optional(),
  WHATSAPP_APP_SECRET: z.string().optional(),
  WHATSAPP_VERIFY_TOKEN: z.string().optional(),
  WEBHOOK_ALLOWED_NETWORKS: cidrs.default([]),
  METRICS_TOKEN: headerText.optional(),
  METRICS_PORT: whole(1, 65_535).optional(),
  OTEL_EXPORTER_OTLP_ENDPOINT: httpUrl.optional(),
  OTEL_TRACES_SAMPLER_ARG: share.default(1),
  ONE_TIME_PASSWORDS: z
    .enum(['open', 'change-only'], { error: 'must be open or change-only' })
    .default('open'),
  REQUIRE_SECOND_FACTOR: z
    .enum(['operators', 'members', 'none'], { error: 'must be operators, members or none' })
    .optional(),
  OIDC_ISSUER: httpUrl.optional(),
  OIDC_CLIENT_ID: z.string().optional(),
  OIDC_CLIENT_SECRET: z.string().optional(),
  OIDC_ROLE_CLAIM: z.string().default('roles'),
  DNS_SERVERS: dnsServers.default([]),
  LOG_LEVEL: z
    .enum(['debug', 'info', 'warn', 'error', 'silent'], {
      error: 'must be debug, info, warn, error or silent',
    })
    .optional(),
});

/** Variables whose values are never printed. */
const SECRETS: readonly string[] = [
  'DATABASE_URL',
  'DATABASE_READ_URL',
  'MASTER_KEY',
  'MASTER_KEY_PREVIOUS',
  // This variable holds names only, but somebody may put a key there by mistake.
  'MASTER_KEY_LOST',
  'SMS_ROUTES',
  'EMAIL_URL',
  'DKIM_KEY',
  'APNS_KEY',
  'VAPID_PRIVATE_KEY',
  'WHATSAPP_TOKEN',
  'WHATSAPP_APP_SECRET',
  'WHATSAPP_VERIFY_TOKEN',
  'METRICS_TOKEN',
  'OIDC_CLIENT_SECRET',
];
const SHOWN_LENGTH = 60;

/** Groups of variables that must be set together or not at all. */
const TOGETHER: readonly (readonly string[])[] = [
  ['DKIM_DOMAIN', 'DKIM_SELECTOR', 'DKIM_KEY'],
  ['BOUNCE_TLS_CERT', 'BOUNCE_TLS_KEY'],
  ['APNS_KEY', 'APNS_KEY_ID', 'APNS_TEAM_ID', 'APNS_TOPIC'],
  ['VAPID_PUBLIC_KEY', 'VAPID_PRIVATE_KEY'],
  ['WHATSAPP_PHONE_NUMBER_ID', 'WHATSAPP_TOKEN'],
  ['OIDC_ISSUER', 'OIDC_CLIENT_ID', 'OIDC_CLIENT_SECRET'],
];

/** Returns an error for each missing variable of a group in which other variables are set. */
function lonely(given: Readonly<Record<string, string>>): string[] {
  return TOGETHER.filter((names) => names.some((name) => given[name] !== undefined)).flatMap((names) =>
    names
      .filter((name) => given[name] === undefined)
      .map((name) => `${name} is missing; ${names.join(', ')} are set together or not at all.`),
  );
}

function faultLine(name: string, value: string, rule: string): string {
  // The value may be a URL with a password that this variable does not expect. Do not print that password.
  const text = value.replace(/\/\/.*@/, '//…@').slice(0, SHOWN_LENGTH);
  const shown = SECRETS.includes(name) ? '' : ` is ${JSON.stringify(text)}, but`;
  return `${name}${shown} ${rule}.`;
}

export type Config = ReturnType<typeof fromVariables>;

/**
 * Reads the settings (docs/operations/environment.md). A variable of the environment overrides the same one in `.env`.
 * An empty variable counts as not set. Throws `ConfigError`.
 */
export function loadConfig(): Config {
  for (const [name, value] of Object.entries(readEnvFile())) process.env[name] ??= value;
  return parseConfig(process.env);
}

/**
 * Reads the variables of `.env`, which may begin with a byte order mark. Returns none if there is no such file. Throws
 * `ConfigError`.
 */
function readEnvFile() {
  try {
    return parseEnv(new TextDecoder('utf-8', { fatal: true }).decode(readFileSync('.env')));
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return {};
    const why = code === 'ERR_ENCODING_INVALID_ENCODED_DATA' ? 'it must be text in UTF-8' : message;
    throw new ConfigError(`.env cannot be read: ${why}.`);
  }
}

/** Checks the settings in `environment`, by name. Throws `ConfigError`. */
export function parseConfig(environment: Readonly<Record<string, string | undefined>>): Config {
  const given = Object.fromEntries(
    Object.keys(variables.shape).flatMap((name) => {
      const value = environment[name];
      return value === undefined || value === '' ? [] : [[name, value]];
    }),
  );
  const parsed = variables.safeParse(given);
  if (!parsed.success) {
    const rules = new Map(parsed.error.issues.map((issue) => [String(issue.path[0]), issue.message]));
    throw new ConfigError(
      [...rules].map(([name, rule]) => faultLine(name, given[name] ?? '', rule)).join('\n'),
    );
  }
  const config = fromVariables(parsed.data);
  const missing = config.isProduction
    ? [
        ...(config.databaseUrl === undefined
          ? [
              'DATABASE_URL is required when NODE_ENV is production, such as postgres://user:password@host:5432/db.',
            ]
          : []),
        ...(config.masterKey === undefined
          ? ['MASTER_KEY is required when NODE_ENV is production; make one with: openssl rand -base64 32.']
          : []),
      ]
    : [];
  if (config.countryHeader !== undefined && config.trustProxy.length === 0) {
    missing.push('COUNTRY_HEADER is believed only from the proxies in TRUST_PROXY, which is not set.');
  }
  missing.push(...lonely(given));
  if (config.bounceDomain === undefined && given.BOUNCE_PORT !== undefined) {
    missing.push(
      'BOUNCE_DOMAIN is missing; with BOUNCE_PORT it must be the domain to which mails come back, such as bounces.example.com.',
    );
  }
  if (missing.length > 0) throw new ConfigError(missing.join('\n'));
  return config;
}

function fromVariables(values: z.output<typeof variables>) {
  const isProduction = values.NODE_ENV === 'production';
  return {
    port: values.PORT,
    host: values.HOST,
    databaseUrl: values.DATABASE_URL,
    /** A standby that serves lists. */
    databaseReadUrl: values.DATABASE_READ_URL,
    /** The slots with which the ids of new keys begin. */
    slots: values.CELL_SLOTS,
    dataDir: values.DATA_DIR,
    /** Hold this copy of the data at the start: it sends nothing until an operator releases it. */
    mustHold: values.RECOVERY === 'hold',
    masterKey: values.MASTER_KEY,
    previousMasterKeys: values.MASTER_KEY_PREVIOUS,
    lostMasterKeys: values.MASTER_KEY_LOST,
    isProduction,
    /**
     * Who needs a second factor. In production the default is operators, because they move money and read every
     * account.
     */
    secondFactorPolicy:
      values.REQUIRE_SECOND_FACTOR ?? (isProduction ? ('operators' as const) : ('none' as const)),
    /** True if a session that began with a one-time password may do nothing except change that password. */
    restrictsOneTimePasswords: values.ONE_TIME_PASSWORDS === 'change-only',
    isApi: values.ROLES.includes('api'),
    isWorker: values.ROLES.includes('worker'),
    publicUrl: values.PUBLIC_URL?.replace(/\/+$/, ''),
    trustProxy: values.TRUST_PROXY,
    /** Path of an MMDB file with the countries of addresses. */
    countryDatabase: values.COUNTRY_DATABASE,
    /** The header, in lower case, in which a trusted proxy names the client's country. */
    countryHeader: values.COUNTRY_HEADER,
    /** Origins of dashboards. Browsers let these dashboards read the answers of GraphQL. */
    corsOrigins: values.CORS_ORIGINS,
    /** Path of a file with GraphQL documents. In production, sessions may run only these documents. */
    graphqlDocuments: values.GRAPHQL_DOCUMENTS,
    serviceName: values.SERVICE_NAME,
    /** The operator's brand in the console and in mails to people. `logo` is the path of a file. */
    brand: { name: values.BRAND_NAME, logo: values.BRAND_LOGO, accent: values.BRAND_ACCENT },
    /** Name of the product in mails to people, in authenticator apps and for passkeys. */
    productName: values.BRAND_NAME ?? values.SERVICE_NAME,
    defaultSenderId: values.DEFAULT_SENDER_ID,
    /** True if accounts send under approved names only. That is the default in production. */
    requiresApprovedSenders: (values.SENDER_POLICY ?? (isProduction ? 'approved' : 'open')) === 'approved',
    /** True if SMS that look like pumping are held for review. That is the default in production. */
    watchesPumping: (values.PUMPING_WATCH ?? (isProduction ? 'on' : 'off')) === 'on',
    /** The hours in which marketing waits. */
    quietHours: new QuietHours(values.QUIET_HOURS),
    rateLimits: {
      perMinute: values.RATE_LIMIT_PER_MINUTE,
      perSecond: values.RATE_LIMIT_PER_SECOND,
      webhooksPerMinute: values.RATE_LIMIT_WEBHOOKS_PER_MINUTE,
      sessionPerMinute: values.RATE_LIMIT_SESSION_PER_MINUTE,
      pointsPerMinute: values.RATE_LIMIT_POINTS_PER_MINUTE,
    },
    /** Number of connections for requests and jobs. */
    databasePoolSize: values.DATABASE_POOL_SIZE,
    /**
     * Limit of the reports that this process stores on its own disk while the database is unreachable, in MB. 0: it
     * stores none.
     */
    reportSpoolMb: values.REPORT_SPOOL_MB,
    // Production never uses the simulator unless EMAIL_URL names it.
    emailUrls: values.EMAIL_URL ?? (isProduction ? [] : ['simulator:']),
    emailFrom: values.EMAIL_FROM,
    dkim:
      values.DKIM_KEY === undefined
        ? undefined
        : {
            domain: values.DKIM_DOMAIN ?? '',
            selector: values.DKIM_SELECTOR ?? '',
            key: values.DKIM_KEY,
          },
    /** The domain of envelope senders. Undefined: mails come back to the sender's own address. */
    bounceDomain: values.BOUNCE_DOMAIN,
    /** Where this process takes mails that come back. Undefined: it does not. */
    bounceListener:
      values.BOUNCE_PORT === undefined
        ? undefined
        : {
            port: values.BOUNCE_PORT,
            host: values.BOUNCE_HOST ?? values.HOST,
            /** Paths of PEM files. */
            certificate: values.BOUNCE_TLS_CERT,
            key: values.BOUNCE_TLS_KEY,
          },
    smsRoutes: values.SMS_ROUTES ?? (isProduction ? [] : [{ prefix: '', urls: ['simulator:'] }]),
    fcm:
      values.FCM_CREDENTIALS === undefined
        ? undefined
        : { credentials: values.FCM_CREDENTIALS, url: values.FCM_URL },
    apns:
      values.APNS_KEY === undefined
        ? undefined
        : {
            key: values.APNS_KEY,
            keyId: values.APNS_KEY_ID ?? '',
            teamId: values.APNS_TEAM_ID ?? '',
            topic: values.APNS_TOPIC ?? '',
            url: values.APNS_URL,
          },
    vapid: {
      /** The VAPID keys. Undefined: the gateway generates a key pair in DATA_DIR. */
      keys:
        values.VAPID_PRIVATE_KEY === undefined
          ? undefined
          : { publicKey: values.VAPID_PUBLIC_KEY ?? '', privateKey: values.VAPID_PRIVATE_KEY },
      subject: values.VAPID_SUBJECT ?? 'mailto:postmaster@localhost',
    },
    whatsApp: {
      provider:
        values.WHATSAPP_TOKEN === undefined
          ? undefined
          : {
              baseUrl: values.WHATSAPP_URL ?? 'https://graph.facebook.com/v23.0',
              phoneNumberId: values.WHATSAPP_PHONE_NUMBER_ID ?? '',
              token: values.WHATSAPP_TOKEN,
            },
      appSecret: values.WHATSAPP_APP_SECRET,
      verifyToken: values.WHATSAPP_VERIFY_TOKEN,
    },
    webhookAllowedNetworks: values.WEBHOOK_ALLOWED_NETWORKS,
    metricsToken: values.METRICS_TOKEN,
    /**
     * The address that traces are sent to (OTLP over HTTP), and the fraction of messages that is traced. Undefined: no
     * traces.
     */
    traces:
      values.OTEL_EXPORTER_OTLP_ENDPOINT === undefined
        ? undefined
        : {
            endpoint: values.OTEL_EXPORTER_OTLP_ENDPOINT.replace(/\/+$/, ''),
            share: values.OTEL_TRACES_SAMPLER_ARG,
          },
    /** Port of a listener that serves only health and metrics. Undefined: there is no such listener. */
    metricsPort: values.METRICS_PORT,
    /** The identity provider at which operators sign in. Undefined: there is none. */
    operatorProvider:
      values.OIDC_ISSUER === undefined
        ? undefined
        : {
            issuer: values.OIDC_ISSUER,
            clientId: values.OIDC_CLIENT_ID ?? '',
            clientSecret: values.OIDC_CLIENT_SECRET ?? '',
            roleClaim: values.OIDC_ROLE_CLAIM,
          },
    /** Name servers for the TXT records of accounts' domains. Empty: the name servers of the system are used. */
    dnsServers: values.DNS_SERVERS,
    /**
     * The lowest level that is logged. Undefined: the server logs from level `info`, and the command line logs nothing.
     */
    logLevel: values.LOG_LEVEL,
  };
}
