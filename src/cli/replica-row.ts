import type { Following, ReplicaLook } from '../domain/ports/replica.ts';
import { messageOf } from './output.ts';

/**
 * Describes the replica of DATABASE_READ_URL for `doctor` (R586). Throws an Error that says what is wrong and what to do,
 * if the gateway cannot read from it.
 */
export function describeReplica(look: ReplicaLook): string {
  if ('unreachable' in look) {
    throw new Error(
      `it cannot be reached: ${messageOf(look.unreachable).trim()}. Check DATABASE_READ_URL, and whether the standby ` +
        'runs with hot_standby = on',
    );
  }
  const { version, user, isSameDatabase, following } = look;
  const server = `PostgreSQL ${version}`;
  if (!isSameDatabase) {
    throw new Error(
      `${server} has another database than DATABASE_URL: name a standby of that server, and the same database`,
    );
  }
  if (!following) {
    throw new Error(
      `${server} is not a standby: it is the primary, or was promoted. Name a standby of the primary, or remove ` +
        'DATABASE_READ_URL',
    );
  }
  const fault = faultOf(following, user);
  if (fault !== undefined) throw new Error(`${server}, ${fault}`);
  const caughtUp = following.behindBytes === 0 ? '' : ' when asked, and caught up';
  return `${server}, a standby of the primary, ${behind(following)}${caughtUp}`;
}

function faultOf(following: Following, user: string): string | undefined {
  const { isReceiving, timeline, primaryTimeline, isPaused, hasCaughtUp } = following;
  if (!isReceiving) {
    return `a standby that receives nothing from the primary, ${behind(following)}: check primary_conninfo and its log`;
  }
  if (timeline === null) {
    return `which does not show ${user} the timeline that it follows: GRANT pg_read_all_stats TO ${user}`;
  }
  if (timeline !== primaryTimeline) {
    return (
      `a standby of a former primary: it follows timeline ${timeline}, and the primary is on ${primaryTimeline}. Let it ` +
      'follow the primary, or make it anew from a backup of the primary'
    );
  }
  if (isPaused)
    return `a standby whose replay is paused, ${behind(following)}: run SELECT pg_wal_replay_resume()`;
  if (!hasCaughtUp) {
    return (
      `a standby that is ${behind(following)} the primary and does not catch up: look for long queries on it ` +
      '(max_standby_streaming_delay), for recovery_min_apply_delay, and at its disk and network'
    );
  }
  return undefined;
}

function behind({ behindBytes, behindSeconds }: Following): string {
  const seconds = behindSeconds === null ? '' : ` and ${behindSeconds.toFixed(1)} s`;
  return `${behindBytes} bytes${behindBytes === 0 ? '' : seconds} behind`;
}
