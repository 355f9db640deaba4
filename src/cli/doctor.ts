import type { ProviderHealth, ReportSink } from '../domain/ports/provider.ts';
import type { Routing } from '../domain/ports/routing.ts';
import type { SecretBox } from '../domain/ports/system.ts';
import type { CliAnswer } from './output.ts';

/** What the doctor looks at; a rejection anywhere is a finding. */
export interface Patient {
  readonly migration: { readonly to: string; readonly newerThan?: string };
  readonly diagnostics: {
    server(): Promise<{ readonly version: string; readonly now: Date }>;
    /** A sealed secret for each master key that sealed one. */
    sealedSamples(): Promise<readonly string[]>;
  };
  readonly queue: { check(): Promise<void>; depth(): Promise<Readonly<Record<string, number>>> };
  readonly routing: Pick<Routing, 'start' | 'stop' | 'health'>;
  readonly reports: { readonly take: ReportSink };
  readonly secrets: Pick<SecretBox, 'open'>;
}

interface Finding {
  readonly check: 'database' | 'queue' | 'carriers' | 'clock' | 'master key';
  readonly ok: boolean;
  readonly detail: string;
}

/** Where the embedded PostgreSQL keeps its files, and what its disk has left. */
interface Room {
  readonly place: string;
  readonly freeMb?: number;
}

const OLDEST_POSTGRES = 14;
/** With less the next messages may find no room to be stored. */
const ROOM_MIN_MB = 100;
/** Webhook receivers and signed requests allow minutes; processes on one database should agree far better. */
const CLOCK_TOLERANCE_MS = 5_000;
const CARRIERS_PATIENCE_MS = 10_000;
const CARRIERS_POLL_MS = 50;

/**
 * Checks everything that a running gateway leans on, a row each. SMSCs and mail servers are connected to, and nothing is sent. `room`
 * is that of the embedded PostgreSQL; that of any other is its operator's.
 */
export async function examine(patient: Patient, room: Room | undefined): Promise<CliAnswer> {
  return report([
    await find('database', () => checkDatabase(patient, room)),
    await find('queue', () => checkQueue(patient)),
    await find('carriers', () => checkCarriers(patient)),
    await find('clock', () => checkClock(patient)),
    await find('master key', () => checkMasterKey(patient)),
  ]);
}

/** The findings when the gateway cannot even be put together because of `check`. */
export function cannotStart(check: 'database' | 'carriers' | 'master key', why: string): CliAnswer {
  const checks = ['database', 'queue', 'carriers', 'clock', 'master key'] as const;
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

async function checkDatabase({ diagnostics, migration }: Patient, room: Room | undefined): Promise<string> {
  const { version } = await diagnostics.server();
  const { to, newerThan } = migration;
  const newer = newerThan === undefined ? '' : `, newer than this release knows (${newerThan})`;
  const found = `PostgreSQL ${version}, schema ${to}${newer}`;
  if (Number.parseInt(version, 10) < OLDEST_POSTGRES) {
    throw new Error(`${found}: PostgreSQL ${OLDEST_POSTGRES} or newer is needed`);
  }
  if (room?.freeMb !== undefined && room.freeMb < ROOM_MIN_MB) {
    throw new Error(`${found}, but only ${room.freeMb} MB are free in ${room.place}: make room there`);
  }
  return found;
}

async function checkQueue({ queue }: Patient): Promise<string> {
  await queue.check();
  const depths = Object.entries(await queue.depth()).map(([name, jobs]) => `${name} ${jobs}`);
  return `jobs that wait or run: ${depths.join(', ')}`;
}

async function checkCarriers({ routing, reports }: Patient): Promise<string> {
  if (routing.health().length === 0) throw new Error('no carrier or provider is configured: set SMS_ROUTES');
  // Reports may come as soon as a carrier is connected, and what is acknowledged must have been stored.
  routing.start((provider, taken) => reports.take(provider, taken));
  // These connect with each message only.
  const untried = new Set(routing.health().flatMap(({ name, state }) => (state === 'up' ? [name] : [])));
  try {
    const deadline = performance.now() + CARRIERS_PATIENCE_MS;
    while (routing.health().some(({ state }) => state !== 'up') && performance.now() < deadline) {
      await new Promise((resolve) => setTimeout(resolve, CARRIERS_POLL_MS));
    }
    const health = routing.health();
    const detail = health.map((each) => describeProvider(each, untried.has(each.name))).join('; ');
    if (health.some(({ state }) => state !== 'up')) throw new Error(detail);
    return detail;
  } finally {
    await routing.stop();
  }
}

function describeProvider({ name, state, detail }: ProviderHealth, isUntried: boolean): string {
  const up = isUntried ? 'set up, not tried' : 'up';
  const how = { up, down: 'down', starting: 'not connected yet' }[state];
  return `${name} is ${how}${detail ? ` (${detail})` : ''}`;
}

async function checkClock({ diagnostics }: Patient): Promise<string> {
  const before = Date.now();
  const { now } = await diagnostics.server();
  const offMs = Math.round(now.getTime() - (before + Date.now()) / 2);
  const found = `${Math.abs(offMs)} ms ${offMs < 0 ? 'ahead of' : 'behind'} the database's`;
  if (Math.abs(offMs) > CLOCK_TOLERANCE_MS)
    throw new Error(`${found}: let NTP set the clocks of both machines`);
  return found;
}

async function checkMasterKey({ diagnostics, secrets }: Patient): Promise<string> {
  const samples = await diagnostics.sealedSamples();
  for (const sample of samples) secrets.open(sample);
  return samples.length === 0 ? 'present; no secret is stored yet' : 'opens the stored secrets';
}

function report(findings: readonly Finding[]): CliAnswer {
  const width = Math.max(...findings.map(({ check }) => check.length));
  const rows = findings.map(
    ({ check, ok, detail }) => `${ok ? 'ok  ' : 'FAIL'}  ${check.padEnd(width)}  ${detail}`,
  );
  const failed = findings.filter(({ ok }) => !ok).map(({ check }) => check);
  return {
    json: { checks: findings },
    text: rows.join('\n'),
    ...(failed.length > 0 ? { failure: `not well: ${failed.join(', ')}` } : {}),
  };
}
