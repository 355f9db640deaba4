/**
 * Checks that a gateway serves requests while it and PostgreSQL are undisturbed, even if other gateways are disturbed.
 */
import type { Disorder } from './schedule.ts';
import type { Probe } from './senders.ts';

/** A disorder that took place. */
export interface Happened {
  readonly disorder: Disorder;
  /** Date.now, ms. */
  readonly from: number;
  readonly until: number;
}

/** Time in ms after a disorder until its effects are over, such as the locks and connections of another gateway. */
const RECOVERY_MS = 8_000;
/** Longest time in ms without service. It is this long because a stopped process holds its locks for 5 s. */
const PATIENCE_MS = 12_000;
/** Kinds of disorders that disturb all gateways, because all share PostgreSQL and the account. */
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
