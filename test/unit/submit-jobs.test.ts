import { describe, expect, it } from '@jest/globals';
import { submitJobs } from '../../src/storage/intake/submit-jobs.ts';
import { preparedMessage } from '../support/prepared-message.ts';

const ACCOUNT = 'a2f0b3f4-4c5e-4d87-9a51-6a3c0c7d9e10';
const to = (address: string, routeKey: string, heldUntil: Date | null = null) => ({
  address,
  costMinor: 35,
  routeKey,
  heldUntil,
});

describe('submit jobs of a batch', () => {
  it('there is one for each route; a message to several routes has one in each, with its positions', () => {
    const split = preparedMessage(ACCOUNT, {
      recipients: [
        to('+256700000001', 'sms:256'),
        to('+254700000001', 'sms:*'),
        to('+256700000002', 'sms:256'),
      ],
    });
    const whole = preparedMessage(ACCOUNT, { recipients: [to('+254700000002', 'sms:*')] });
    const jobs = submitJobs([split, whole]);
    expect(jobs.map(({ routeKey, data }) => ({ routeKey, ...data }))).toEqual([
      {
        routeKey: 'sms:256',
        messageIds: [split.id],
        positions: { [split.id]: [0, 2] },
        attempt: 0,
      },
      {
        routeKey: 'sms:*',
        messageIds: [split.id, whole.id],
        positions: { [split.id]: [1] },
        attempt: 0,
      },
    ]);
    expect(
      jobs.map(({ prefetched }) =>
        prefetched?.map(({ message, recipients }) => [message.id, recipients.map(({ address }) => address)]),
      ),
    ).toEqual([
      [[split.id, ['+256700000001', '+256700000002']]],
      [
        [split.id, ['+254700000001']],
        [whole.id, ['+254700000002']],
      ],
    ]);
    expect(jobs[0]?.prefetched?.[0]?.recipients[1]).toEqual({
      messageId: split.id,
      position: 2,
      address: '+256700000002',
      isClaimed: true,
      heldUntil: null,
    });
  });

  it('held recipients have jobs of their own, which name their positions (R385)', () => {
    const morning = new Date('2026-11-27T05:00:00Z');
    const noon = new Date('2026-11-27T10:00:00Z');
    const mixed = preparedMessage(ACCOUNT, {
      purpose: 'marketing',
      recipients: [
        to('+256700000001', '*', morning),
        to('+44700000001', '*'),
        to('+256700000002', '*', morning),
        to('+33700000001', '*', noon),
      ],
      heldUntil: noon,
    });
    const held = preparedMessage(ACCOUNT, {
      purpose: 'marketing',
      recipients: [to('+256700000003', '*', new Date(morning))],
      heldUntil: morning,
    });
    expect(
      submitJobs([mixed, held]).map(({ data, startAfter, prefetched }) => ({
        positions: data.positions,
        messageIds: data.messageIds,
        startAfter,
        prefetched: prefetched?.map(({ recipients }) => recipients.map(({ position }) => position)),
      })),
    ).toEqual([
      { positions: { [mixed.id]: [0, 2] }, messageIds: [mixed.id, held.id], startAfter: morning },
      { positions: { [mixed.id]: [1] }, messageIds: [mixed.id], startAfter: undefined, prefetched: [[1]] },
      { positions: { [mixed.id]: [3] }, messageIds: [mixed.id], startAfter: noon },
    ]);
  });

  it('a scheduled message has a job of its own that reads it when it is due; a sandbox message has none', () => {
    const scheduledFor = new Date(Date.now() + 60_000);
    const now = preparedMessage(ACCOUNT);
    const later = preparedMessage(ACCOUNT, { scheduledFor });
    const sandbox = preparedMessage(ACCOUNT, { environment: 'sandbox' });
    const jobs = submitJobs([now, later, sandbox]);
    expect(
      jobs.map(({ data, startAfter, prefetched }) => [data.messageIds, startAfter, prefetched === undefined]),
    ).toEqual([
      [[now.id], undefined, false],
      [[later.id], scheduledFor, true],
    ]);
  });
});
