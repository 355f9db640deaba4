import type { InboundSink, ProviderHealth, ReportSink } from '../domain/ports/provider.ts';
import type { ReplicaLook } from '../domain/ports/replica.ts';
import type { ProbedProvider, Routing } from '../domain/ports/routing.ts';
import type { SecretBox } from '../domain/ports/system.ts';
import { describeHold, type Hold } from '../domain/recovery/hold.ts';
import { hasDkimKey } from '../domain/senders/sender.ts';
import { type CliAnswer, errorLine } from './output.ts';
import { describeReplica } from './replica-row.ts';

/**
 * The parts of the gateway that `doctor` checks. If a function of a part rejects, the check fails, and `doctor` shows
 * the error.
 */
export interface Patient {
  readonly migration: { readonly to: string; readonly newerThan?: string };
  readonly diagnostics: {
    readonly server: { readonly version: string; readonly isPooled: boolean };
    /** The gateway sets PostgreSQL settings on its connections. Returns the settings that have another value. */
    settingsNotHeld(): Promise<readonly string[]>;
    /**
     * Prepares all SQL statements of the gateway on this server. Returns their number, and the statements that the
     * server refuses.
     */
    refusedStatements(): Promise<{ readonly all: number; readonly refused: readonly string[] }>;
    hearsNotifications(): Promise<boolean>;
    /** Returns one sealed secret for each master key that has sealed any. */
    sealedSamples(): Promise<readonly string[]>;
  };
  readonly clock: {
    agrees(): Promise<boolean>;
    /** Describes what is wrong with the clock, as a sentence. Undefined if nothing is wrong. */
    fault(): string | undefined;
    /** How far this machine's clock is ahead of the database's clock, in milliseconds. */
    readonly skewMs: number;
  };
  /** Writes a row. Rejects if the database refuses writes. */
  readonly heartbeat: { beat(): Promise<void> };
  readonly queue: { check(): Promise<void>; depth(): Promise<Readonly<Record<string, number>>> };
  readonly holdGate: { readonly hold: Hold | undefined };
  /**
   * Checks all ledgers once. Resolves with the number of accounts whose balance differs from the sum of their ledger
   * entries.
   */
  checkLedgers(): Promise<number>;
  readonly routing: Pick<Routing, 'start' | 'stop' | 'health' | 'probe'>;
  readonly whatsAppNumbers: { keepProviders(): Promise<void> };
  readonly reports: { readonly take: ReportSink };
  readonly takeInbound: InboundSink;
  readonly secrets: Pick<SecretBox, 'open'>;
  /** Looks at the replica of DATABASE_READ_URL. Undefined if none is configured. */
  readonly lookAtReplica: (() => Promise<ReplicaLook>) | undefined;
  /** The domain to which mails come back. Undefined if they do not come back to the gateway. */
  readonly bounces: { readonly domain: string; exchangers(): Promise<readonly string[]> } | undefined;
  /** The DKIM key that signs emails. Undefined if emails are not signed. */
  readonly dkim:
    | {
        readonly recordName: string;
        readonly record: string;
        /** Returns the TXT records under `recordName`. */
        published(): Promise<readonly string[]>;
      }
    | undefined;
}

interface Finding {
  readonly check:
    | 'database'
    | 'replica'
    | 'queue'
    | 'ledger'
    | 'sending'
    | 'carriers'
    | 'provider'
    | 'dkim'
    | 'bounces'
    | 'clock'
    | 'master key';
  /** Name of the provider. Set for `provider` only. */
  readonly name?: string;
  readonly ok: boolean;
  readonly detail: string;
}

/**
 * Free disk space for the embedded PostgreSQL. `place` is its directory. `freeMb` is undefined if the system does not
 * say.
 */
interface Room {
  readonly place: string;
  readonly freeMb?: number;
}

/** Minimum free disk space, in MB. With less, the next messages may not fit. */
const ROOM_MIN_MB = 100;
const CARRIERS_PATIENCE_MS = 10_000;
const CARRIERS_POLL_MS = 50;
/** Number of refused statements that a check names. */
const MAX_SHOWN = 3;

/**
 * Checks everything that a running gateway needs. The answer has one row for each check. Connects to SMSCs and mail
 * servers, asks each provider whether it accepts the credentials, and sends nothing (R348). `room` is given for the
 * embedded PostgreSQL only.
 */
export async function examine(patient: Patient, room: Room | undefined): Promise<CliAnswer> {
  const providers: Finding[] = [];
  const { lookAtReplica } = patient;
  return report([
    await find('database', () => checkDatabase(patient, room)),
    ...(lookAtReplica ? [await find('replica', async () => describeReplica(await lookAtReplica()))] : []),
    await find('queue', () => checkQueue(patient)),
    await find('ledger', () => checkLedger(patient)),
    await find('sending', async () => checkSending(patient)),
    await find('carriers', () => checkCarriers(patient, providers)),
    ...providers,
    ...(patient.dkim ? [await find('dkim', checkDkim(patient.dkim))] : []),
    ...(patient.bounces ? [await find('bounces', checkBounces(patient.bounces))] : []),
    await find('clock', () => checkClock(patient)),
    await find('master key', () => checkMasterKey(patient)),
  ]);
}

/** The parts whose settings may prevent the start. */
export type FaultyPart = 'database' | 'replica' | 'carriers' | 'master key';

/**
 * Returns the answer for a gateway that cannot start. `check` names the part that failed. All other checks are shown as
 * not checked. `hasReplica` is true if DATABASE_READ_URL is set.
 */
export function cannotStart(check: FaultyPart, why: string, hasReplica: boolean): CliAnswer {
  const checks = [
    'database',
    ...(hasReplica ? (['replica'] as const) : []),
    'queue',
    'ledger',
    'sending',
    'carriers',
    'clock',
    'master key',
  ] as const;
  return report(
    checks.map((name) => ({
      check: name,
      ok: false,
      detail: name === check ? why : `not checked because of the ${check}`,
    })),
  );
}

async function find(check: Finding['check'], look: () => Promise<string>): Promise<Finding> {
  try {
    return { check, ok: true, detail: await look() };
  } catch (error) {
    return { check, ok: false, detail: error instanceof Error ? error.message || error.name : String(error) };
  }
}

async function checkDatabase(
  { diagnostics, heartbeat, migration }: Patient,
  room: Room | undefined,
): Promise<string> {
  const { version, isPooled } = diagnostics.server;
  const { to, newerThan } = migration;
  const newer = newerThan === undefined ? '' : `, newer than this release knows (${newerThan})`;
  const found = `PostgreSQL ${version}${isPooled ? ' through a connection pool' : ''}, schema ${to}${newer}`;
  if (room?.freeMb !== undefined && room.freeMb < ROOM_MIN_MB) {
    throw new Error(`${found}, but only ${room.freeMb} MB are free in ${room.place}: free some space there`);
  }
  const settings = await diagnostics.settingsNotHeld();
  if (settings.length > 0) {
    throw new Error(
      `${found}, but session settings are lost (${settings.join(', ')}): nothing between the gateway ` +
        'and PostgreSQL may reset them',
    );
  }
  const { all, refused } = await diagnostics.refusedStatements();
  if (refused.length > 0) {
    const shown = refused.slice(0, MAX_SHOWN).join('; ');
    throw new Error(`${found}, which refuses ${refused.length} of the gateway's ${all} statements: ${shown}`);
  }
  if (!(await diagnostics.hearsNotifications()))
    throw new Error(
      `${found}, but a notification does not reach other connections: connect directly or through a session pool`,
    );
  try {
    await heartbeat.beat();
  } catch (error) {
    throw new Error(`${found}, but it does not accept writes: ${errorLine(error, () => false)}`);
  }
  return `${found}; settings hold, ${all} statements are understood, notifications arrive`;
}

async function checkQueue({ queue }: Patient): Promise<string> {
  await queue.check();
  const depths = Object.entries(await queue.depth()).map(([name, jobs]) => `${name} ${jobs}`);
  return `jobs waiting or running: ${depths.join(', ')}`;
}

async function checkLedger(patient: Patient): Promise<string> {
  const accounts = await patient.checkLedgers();
  if (accounts === 0) return 'every balance that was checked is the sum of its ledger';
  const whose = accounts === 1 ? '1 account does' : `${accounts} accounts do`;
  throw new Error(
    `${whose} not add up: the table ledger_mismatches names each, and the entry (0: the balance)`,
  );
}

function checkSending({ holdGate: { hold } }: Patient): string {
  if (hold) throw new Error(describeHold(hold));
  return 'this copy of the data is the one that sends';
}

/** Adds a finding for each provider to `providers`. */
async function checkCarriers(
  { routing, whatsAppNumbers, reports, takeInbound }: Patient,
  providers: Finding[],
): Promise<string> {
  await whatsAppNumbers.keepProviders();
  if (routing.health().length === 0) throw new Error('no carrier or provider is configured: set SMS_ROUTES');
  // Delivery reports and texts may arrive as soon as a carrier is connected. They are acknowledged, so `doctor` must
  // handle them.
  routing.start((provider, taken) => reports.take(provider, taken), takeInbound);
  // Some providers connect only when they have a message to send. They are `up` at once, although nothing has tried
  // their connection.
  const untried = new Set(routing.health().flatMap(({ name, state }) => (state === 'up' ? [name] : [])));
  try {
    const deadline = performance.now() + CARRIERS_PATIENCE_MS;
    while (routing.health().some(({ state }) => state !== 'up') && performance.now() < deadline) {
      await new Promise((resolve) => setTimeout(resolve, CARRIERS_POLL_MS));
    }
    const health = routing.health();
    providers.push(...findProviders(health, await routing.probe('all')));
    const detail = health.map((each) => describeProvider(each, untried.has(each.name))).join('; ');
    if (health.some(({ state }) => state !== 'up')) throw new Error(detail);
    return detail;
  } finally {
    await routing.stop();
  }
}

/** Returns the result for each provider. For a provider without a probe, only the state of the connection is known. */
function findProviders(health: readonly ProviderHealth[], probed: readonly ProbedProvider[]): Finding[] {
  const answers = new Map(probed.map((answer) => [answer.name, answer]));
  return health.map(({ name, state, detail }): Finding => {
    const answer = answers.get(name);
    if (answer && 'fault' in answer) return { check: 'provider', name, ok: false, detail: answer.fault };
    const warning = detail === undefined ? '' : `; ${detail}`;
    if (answer) return { check: 'provider', name, ok: true, detail: `${answer.probe.detail}${warning}` };
    const how = { up: 'connected', down: 'down', starting: 'not connected yet' }[state];
    return { check: 'provider', name, ok: state === 'up', detail: `${how}${warning}` };
  });
}

function describeProvider({ name, state, detail }: ProviderHealth, isUntried: boolean): string {
  const up = isUntried ? 'set up, not tried' : 'up';
  const how = { up, down: 'down', starting: 'not connected yet' }[state];
  return `${name} is ${how}${detail ? ` (${detail})` : ''}`;
}

/**
 * Checks that receivers find the DKIM key in the DNS. With another key there, they refuse all signatures. The private
 * key itself was checked at the start.
 */
function checkDkim({ recordName, record, published }: NonNullable<Patient['dkim']>) {
  return async () => {
    const texts = await published();
    if (hasDkimKey(texts, record)) return `signs mails; the DNS has the key at ${recordName}`;
    const found = texts.length === 0 ? 'no TXT record' : 'another key in the DNS';
    throw new Error(`${recordName} has ${found}: publish this as its only TXT record: ${record}`);
  };
}

/**
 * Checks that mails can come back: the domain has an MX record. Whether port 25 of that host leads to BOUNCE_PORT can
 * only be seen from outside.
 */
function checkBounces({ domain, exchangers }: NonNullable<Patient['bounces']>) {
  return async () => {
    const hosts = await exchangers();
    if (hosts.length > 0) return `mails to ${domain} go to ${hosts.join(', ')}`;
    throw new Error(
      `${domain} has no MX record, so that no mail comes back: publish one with the host that takes them`,
    );
  };
}

async function checkClock({ clock }: Patient): Promise<string> {
  if (!(await clock.agrees())) throw new Error(clock.fault());
  const { skewMs } = clock;
  return `${Math.round(Math.abs(skewMs))} ms ${skewMs < 0 ? 'behind' : 'ahead of'} the database's`;
}

async function checkMasterKey({ diagnostics, secrets }: Patient): Promise<string> {
  const samples = await diagnostics.sealedSamples();
  for (const sample of samples) secrets.open(sample);
  return samples.length === 0 ? 'present; no secret is stored yet' : 'opens the stored secrets';
}

function report(findings: readonly Finding[]): CliAnswer {
  const width = Math.max(...findings.map(({ check }) => check.length));
  const rows = findings.map(
    ({ check, name, ok, detail }) =>
      `${ok ? 'ok  ' : 'FAIL'}  ${check.padEnd(width)}  ${name === undefined ? '' : `${name}: `}${detail}`,
  );
  const failed = findings.filter(({ ok }) => !ok).map(({ check, name }) => name ?? check);
  return {
    json: { checks: findings },
    text: rows.join('\n'),
    ...(failed.length > 0 ? { failure: `failed: ${failed.join(', ')}` } : {}),
  };
}
