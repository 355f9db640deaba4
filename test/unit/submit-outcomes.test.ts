import { describe, expect, it } from '@jest/globals';
import { SubmitOutcomes } from '../../src/domain/messages/submit-outcomes.ts';
import type { NewJob } from '../../src/domain/ports/job-queue.ts';
import type { SubmitOutcome } from '../../src/domain/ports/provider.ts';
import type { RecipientKey, Tx, UnitOfWork } from '../../src/domain/ports/stores.ts';
import { silentLogger } from '../support/database.ts';

const HOUR_MS = 3_600_000;

/** Seconds until the next try after the hand-over number `attempt` had this outcome; undefined where there is none. */
async function nextTryAfter(attempt: number, outcome: SubmitOutcome): Promise<number | undefined> {
  const jobs: NewJob[] = [];
  const tx = {
    messages: {
      lockAndMove: async () => ({ messages: new Map(), moved: [] }),
      countMoves: async () => undefined,
      note: async () => undefined,
      postpone: async (keys: readonly RecipientKey[]) => keys,
    },
    accounts: { credit: async () => [] },
    reports: { addSids: async () => [] },
    jobs: {
      enqueue: async (added: readonly NewJob[]) => void jobs.push(...added),
      end: async () => undefined,
    },
    announceLive: () => undefined,
  } as unknown as Tx;
  const uow: UnitOfWork = { run: (work) => work(tx) };
  const ids = { uuid: () => '', random: (bytes: number) => Buffer.alloc(bytes) };
  const outcomes = new SubmitOutcomes(uow, ids, { isFault: () => false, logger: silentLogger });
  const at = new Date('2026-11-23T00:00:00Z');
  await outcomes.record({
    message: { id: 'm', channel: 'sms', expiresAt: new Date(at.getTime() + 24 * HOUR_MS) },
    position: 0,
    group: 'sms:*',
    provider: 'carrier',
    attempt,
    outcome,
    mayBeFreed: false,
    at,
    job: { held: { id: 'j', queue: 'submit' }, open: 1 },
  });
  const due = jobs[0]?.startAfter;
  return due && (due.getTime() - at.getTime()) / 1_000;
}

describe('the next try of a message that a carrier did not take', () => {
  const unavailable = { kind: 'unavailable', reason: 'no' } as const;

  it('comes every five minutes where nothing has left, and ever later where it may have arrived', async () => {
    expect(await nextTryAfter(12, { ...unavailable, nothingLeft: true })).toBe(300);
    expect(await nextTryAfter(12, unavailable)).toBe(4_096);
    expect(await nextTryAfter(3, unavailable)).toBe(8);
  });

  it('comes no sooner than the carrier said', async () => {
    expect(await nextTryAfter(0, { ...unavailable, retryAfterMs: 60_000 })).toBe(60);
  });
});
