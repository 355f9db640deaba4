import { setTimeout as sleep } from 'node:timers/promises';
import type { Following, ReplicaLook } from '../../domain/ports/replica.ts';
import { configOf, type DatabaseConnection } from './connection.ts';
import { IDENTITY, POSITION, type Position } from './replica.ts';
import { connect, type Probe } from './server-check.ts';
import type { Sql } from './sql.ts';

/** Time in ms in which a replica should replay what the primary has. */
const CATCH_UP_MS = 5_000;
const LOOK_MS = 50;

const FACTS = `SELECT current_setting('server_version') AS version, current_user AS "user",
  pg_is_in_recovery() AS "isStandby"`;
const STATE = `SELECT pg_wal_lsn_diff(pg_last_wal_replay_lsn(), '0/0')::float8 AS replayed,
  extract(epoch FROM clock_timestamp() - pg_last_xact_replay_timestamp())::float8 AS age,
  pg_is_wal_replay_paused() AS "isPaused", w.pid IS NOT NULL AS "isReceiving",
  lpad(upper(to_hex(w.received_tli)), 8, '0') AS timeline
  FROM (SELECT) AS one LEFT JOIN pg_stat_wal_receiver w ON true`;

type State = Pick<Following, 'isPaused' | 'isReceiving' | 'timeline'> & {
  readonly replayed: number;
  readonly age: number | null;
};

/**
 * Looks for `doctor` at the replica of DATABASE_READ_URL. Waits some seconds until it has replayed what the primary had.
 * Rejects if the primary does not answer.
 */
export async function lookAtReplica(connection: DatabaseConnection, primary: Sql): Promise<ReplicaLook> {
  const [own] = await primary.query<{ identity: string }>(IDENTITY, []);
  const [position] = await primary.query<Position>(POSITION, []);
  const replica = connect(await configOf(connection));
  try {
    await replica.connect();
    const facts = await rowOf<{ version: string; user: string; isStandby: boolean }>(replica, FACTS);
    const { version, user, isStandby } = facts;
    const { identity } = await rowOf<{ identity: string }>(replica, IDENTITY.text);
    return {
      version,
      user,
      isSameDatabase: identity === own?.identity,
      following: isStandby && position ? await follow(replica, position) : undefined,
    };
  } catch (error) {
    return { unreachable: error };
  } finally {
    await replica.end().catch(() => undefined);
  }
}

async function follow(replica: Probe, { position, timeline = '' }: Position): Promise<Following> {
  const end = performance.now() + CATCH_UP_MS;
  const first = await rowOf<State>(replica, STATE);
  let last = first;
  while (last.replayed < position && !last.isPaused && last.isReceiving && performance.now() < end) {
    await sleep(LOOK_MS);
    last = await rowOf<State>(replica, STATE);
  }
  const hasCaughtUp = last.replayed >= position;
  const shown = hasCaughtUp ? first : last;
  const behindBytes = Math.max(0, position - shown.replayed);
  return {
    isReceiving: last.isReceiving,
    timeline: last.timeline,
    primaryTimeline: timeline,
    isPaused: last.isPaused,
    hasCaughtUp,
    behindBytes,
    behindSeconds: behindBytes === 0 ? 0 : shown.age,
  };
}

async function rowOf<Row extends object>(replica: Probe, text: string): Promise<Row> {
  const [row] = (await replica.query<Row>(text)).rows;
  if (!row) throw new Error('the replica answered without a row');
  return row;
}
