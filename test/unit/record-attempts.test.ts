import { describe, expect, it } from '@jest/globals';
import type { AttemptResult } from '../../src/domain/ports/webhook-transport.ts';
import { attemptRecord } from '../../src/domain/webhooks/record-attempts.ts';

const AT = new Date('2026-11-21T10:00:00.000Z');
const ENDED_AT = new Date('2026-11-21T10:00:09.987Z');
const DELIVERY = { id: 'd', accountId: 'a', event: 'sms.sent', dueAt: null } as const;
const result = (ok: boolean): AttemptResult => ({
  ok,
  httpStatus: ok ? 200 : 500,
  responseBody: '',
  errorMessage: ok ? null : 'answered 500',
  durationMs: 9_987.4,
});
const failing = (maxRetries: number, number: number, event: 'sms.sent' | 'webhook.test' = 'sms.sent') =>
  attemptRecord({ maxRetries }, { ...DELIVERY, event }, number, AT, ENDED_AT, result(false));

describe('the retry schedule (R164, R165, R189)', () => {
  it.each([
    [1, 5],
    [2, 15],
    [3, 35],
    [4, 75],
    [5, 155],
  ])('the pause after attempt %i is %i s from its end, and at most 20 ms more', (number, seconds) => {
    const record = failing(5, number);
    expect(record).toMatchObject({ status: 'retrying' });
    const pauseMs = (record.nextRetryAt?.getTime() ?? 0) - ENDED_AT.getTime();
    expect(pauseMs).toBeGreaterThanOrEqual(seconds * 1000);
    expect(pauseMs).toBeLessThanOrEqual(seconds * 1000 + 20);
  });

  it.each([0, 1, 2, 3, 4, 5])('maxRetries %i allows one more attempt than that', (maxRetries) => {
    let attempts = 1;
    while (failing(maxRetries, attempts).status === 'retrying') attempts += 1;
    expect(attempts).toBe(maxRetries + 1);
    expect(failing(maxRetries, attempts)).toMatchObject({ status: 'failed', nextRetryAt: null });
  });

  it('a manual attempt after the last retry gets no retry', () => {
    expect(failing(5, 7)).toMatchObject({ status: 'failed', nextRetryAt: null });
  });

  it('a test event is never retried (R28)', () => {
    expect(failing(5, 1, 'webhook.test')).toMatchObject({ status: 'failed', nextRetryAt: null });
  });

  it('ends with a success', () => {
    const record = attemptRecord({ maxRetries: 3 }, DELIVERY, 2, AT, ENDED_AT, result(true));
    expect(record).toMatchObject({ status: 'success', nextRetryAt: null });
    expect(record.attempt).toEqual({ at: AT, httpStatus: 200, durationMs: 9_987, errorMessage: null });
  });
});
