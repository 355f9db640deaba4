/** Judges whether gateways served while nothing was wrong with them and with PostgreSQL, whatever happened to others. */
import type { Disorder } from './schedule.ts';
import type { Probe } from './senders.ts';

/** A disorder that took place. */
export interface Happened {
  readonly disorder: Disorder;
  /** Date.now, ms. */
  readonly from: number;
  readonly until: number;
}

/** What another gateway left behind (locks, connections) is gone so long after, and what disturbed this one is over. */
const RECOVERY_MS = 8_000;
/** Nobody is left without service for longer, ms: a process that stands still holds its locks for 5 s. */
const PATIENCE_MS = 12_000;
/** They disturb all gateways. */
const FOR_ALL: readonly Disorder['kind'][] = ['crash-postgres', 'crash-both', 'stop-postgres', 'lock-row'];

export function judgeService(probes: readonly Probe[], happened: readonly Happened[]): string[] {
  const wrong: string[] = [];
  for (const [gateway, own] of Map.groupBy(probes, (probe) => probe.gateway)) {
    const disturbed = happened.filter(
      ({ disorder }) =>
        FOR_ALL.includes(disorder.kind) || ('gateway' in disorder && disorder.gateway === gateway),
    );
    const isDisturbed = ({ askedAt, answeredAt }: Probe) =>
      disturbed.some(({ from, until }) => from < answeredAt && askedAt < until + RECOVERY_MS);
    let since: number | undefined;
    for (const probe of own) {
      if (probe.isServed || isDisturbed(probe)) since = undefined;
      else since ??= probe.askedAt;
      const forMs = since === undefined ? 0 : probe.answeredAt - since;
      if (forMs > PATIENCE_MS) {
        wrong.push(`gateway ${gateway} served nobody for ${forMs} ms, though nothing disturbed it`);
        break;
      }
    }
  }
  return wrong;
}
