import { describe, expect, it } from '@jest/globals';
import type { NewJob } from '../../src/domain/ports/job-queue.ts';
import { UNMEASURED } from '../../src/domain/ports/measurements.ts';
import type { RecipientKey, RecipientMove, TimelineNote } from '../../src/domain/ports/message-stores.ts';
import type { SubmitOutcome } from '../../src/domain/ports/provider.ts';
import type { Tx, UnitOfWork } from '../../src/domain/ports/stores.ts';
import { SubmitOutcomes } from '../../src/workers/submit/submit-outcomes.ts';
import { silentLogger } from '../support/database.ts';

const HOUR_MS = 3_600_000;

/** Returns the record of a submission with this outcome. It is attempt number `attempt` of the recipient. */
async function recorded(attempt: number, outcome: SubmitOutcome, { isLostMeanwhile = false } = {}) {
  const jobs: NewJob[] = [];
  const notes: TimelineNote[] = [];
  const moves: RecipientMove[] = [];
  const known = new Map([['m', { accountId: 'a' }]]);
  const tx = {
    messages: {
      lockAndMove: async (_ids: readonly string[], given: readonly RecipientMove[]) => {
        moves.push(...given);
        return { messages: known, moved: [] };
      },
      countMoves: async () => undefined,
      note: async (added: readonly TimelineNote[]) => void notes.push(...added),
      postpone: async (keys: readonly RecipientKey[]) => keys,
    },
    accounts: { credit: async () => [] },
    analytics: { countMoves: async () => undefined, countRefunds: async () => undefined },
    refunds: { cancel: async () => [] },
    reports: { addSids: async () => [] },
    jobs: {
      enqueue: async (added: readonly NewJob[]) => void jobs.push(...added),
      end: async () => undefined,
    },
    measurements: UNMEASURED,
    announceLive: () => undefined,
  } as unknown as Tx;
  const lease = new AbortController();
  let transactions = 0;
  const uow: UnitOfWork = {
    run: async (work) => {
      transactions += 1;
      if (!isLostMeanwhile || transactions > 1) return work(tx);
      lease.abort();
      throw new Error('the database is away');
    },
  };
  const ids = { uuid: () => '', random: (bytes: number) => Buffer.alloc(bytes) };
  const at = new Date('2026-11-23T00:00:00Z');
  const system = { clock: { now: () => at }, ids };
  const outcomes = new SubmitOutcomes(uow, system, { isFault: () => true, logger: silentLogger });
  const job = { held: { id: 'j', queue: 'submit' as const }, unrecorded: 1 };
  await outcomes.record({
    message: { id: 'm', channel: 'sms', expiresAt: new Date(at.getTime() + 24 * HOUR_MS) },
    position: 0,
    routeKey: 'sms:*',
    provider: 'carrier',
    attempt,
    outcome,
    possiblySent: false,
    at,
    job,
    signal: lease.signal,
  });
  const due = jobs[0]?.startAfter;
  return {
    nextTryAfter: due && (due.getTime() - at.getTime()) / 1_000,
    notes,
    moves,
    transactions,
    unrecorded: job.unrecorded,
  };
}

describe('the next try after a carrier did not accept', () => {
  const unavailable = { kind: 'unavailable', reason: 'no' } as const;

  it('comes every five minutes when nothing was sent, and at growing delays when the message may have arrived (R221)', async () => {
    expect((await recorded(12, { ...unavailable, definitelyNotSent: true })).nextTryAfter).toBe(300);
    expect((await recorded(12, unavailable)).nextTryAfter).toBe(3_600);
    expect((await recorded(3, unavailable)).nextTryAfter).toBe(8);
  });

  it('comes no sooner than the carrier asked', async () => {
    expect((await recorded(0, { ...unavailable, retryAfterMs: 60_000 })).nextTryAfter).toBe(60);
  });

  it('is noted in the timeline a few times, and then ever more rarely', async () => {
    const noted: number[] = [];
    for (let attempt = 0; attempt < 300; attempt++) {
      if ((await recorded(attempt, unavailable)).notes.length > 0) noted.push(attempt);
    }
    expect(noted).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 16, 32, 64, 128, 256]);
  });

  it('is left to the new holder of the lease when the database was away too long; accepted parts are recorded', async () => {
    const lost = await recorded(0, unavailable, { isLostMeanwhile: true });
    expect(lost).toMatchObject({ nextTryAfter: undefined, transactions: 1, unrecorded: 1 });
    const taken = await recorded(0, { kind: 'accepted', sid: '1' }, { isLostMeanwhile: true });
    expect(taken).toMatchObject({ transactions: 2, unrecorded: 0 });
  });

  it('defers the refund of a refusal whose lease was lost: another process may have submitted the message (R218)', async () => {
    const refused = { kind: 'rejected', code: 'ESME_RINVDSTADR', reason: 'no such number' } as const;
    const [kept, lost] = [await recorded(0, refused), await recorded(0, refused, { isLostMeanwhile: true })];
    expect([kept, lost].map(({ moves }) => moves.map(({ to, possiblySent }) => [to, possiblySent]))).toEqual([
      [['failed', false]],
      [['failed', true]],
    ]);
  });
});
