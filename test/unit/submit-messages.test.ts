import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { createOptOutTokens } from '../../src/crypto/opt-out-tokens.ts';
import { QuietHours } from '../../src/domain/messages/quiet-hours.ts';
import type { Provider, Submission, SubmitOutcome } from '../../src/domain/ports/provider.ts';
import type { Routing } from '../../src/domain/ports/routing.ts';
import type { Stores, UnitOfWork } from '../../src/domain/ports/stores.ts';
import { submitJobs } from '../../src/storage/intake/submit-jobs.ts';
import { SubmitMessages } from '../../src/workers/submit/submit-messages.ts';
import type { SubmitOutcomes } from '../../src/workers/submit/submit-outcomes.ts';
import { preparedMessage } from '../support/prepared-message.ts';

const NO_QUIET_HOURS = new QuietHours([]);
const ACCOUNT = 'a2f0b3f4-4c5e-4d87-9a51-6a3c0c7d9e10';

/** Runs a job with this many recipients for a second. Returns whether the job released its slot while it waited. */
async function releaseSlotWhileWaiting({
  recipients,
  answers,
  isRecorded,
}: {
  recipients: number;
  /** Number of recipients for which the carrier has answered. */
  answers: number;
  isRecorded: boolean;
}): Promise<boolean> {
  const never = new Promise<never>(() => undefined);
  let submitted = 0;
  const provider = {
    name: 'carrier',
    submit: async (): Promise<SubmitOutcome> => {
      submitted += 1;
      return submitted <= answers ? { kind: 'accepted', sid: String(submitted) } : never;
    },
  } as unknown as Provider<Submission>;
  const routing = { providers: () => [provider] } as unknown as Routing;
  const outcomes = { record: async () => (isRecorded ? undefined : never) } as unknown as SubmitOutcomes;
  const clock = { now: () => new Date() };
  const tokens = createOptOutTokens(Buffer.alloc(32, 7));
  const messages = new SubmitMessages(
    {} as Stores,
    {} as UnitOfWork,
    routing,
    outcomes,
    clock,
    tokens,
    NO_QUIET_HOURS,
    {
      check: async () => () => ({
        isSuppressed: false,
        stillAllowed: async (addresses) => addresses,
        close: () => 0,
      }),
    },
    { mayUse: async () => true },
  );
  const message = preparedMessage(ACCOUNT, {
    recipients: Array.from({ length: recipients }, (_, n) => ({
      address: `+2567000000${n}`,
      costMinor: 35,
      routeKey: 'sms:*',
      heldUntil: null,
    })),
  });
  const [job] = submitJobs([message]);
  if (!job) throw new Error('there is no job');
  let isTold = false;
  const held = {
    ...job,
    id: 'job',
    isRepeat: false,
    releaseSlotWhileWaiting: () => {
      isTold = true;
    },
  };
  void messages.handle(held, new AbortController().signal);
  await jest.advanceTimersByTimeAsync(1_000);
  expect(submitted).toBe(recipients);
  return isTold;
}

describe('a job that releases its slot', () => {
  beforeEach(() => {
    jest.useFakeTimers();
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  it('has few recipients without an answer of the carrier', async () => {
    expect(await releaseSlotWhileWaiting({ recipients: 25, answers: 5, isRecorded: true })).toBe(true);
    expect(await releaseSlotWhileWaiting({ recipients: 1, answers: 0, isRecorded: true })).toBe(true);
  });

  it('is not one with many recipients left to hand over', async () => {
    expect(await releaseSlotWhileWaiting({ recipients: 25, answers: 4, isRecorded: true })).toBe(false);
  });

  it('is not one whose results wait for the database, because more jobs would add load', async () => {
    expect(await releaseSlotWhileWaiting({ recipients: 5, answers: 5, isRecorded: false })).toBe(false);
  });
});
