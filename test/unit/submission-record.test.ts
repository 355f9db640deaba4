import { describe, expect, it } from '@jest/globals';
import { redactSecrets, SubmissionRecord } from '../../src/channels/submission-record.ts';

describe('the record of recent submissions', () => {
  it('counts outcomes of the last five minutes, and keeps the last error and success', () => {
    let now = Date.parse('2026-01-01T00:00:30Z');
    const record = new SubmissionRecord(() => now);
    expect(record.read()).toEqual({
      submitted: 0,
      rejected: 0,
      failed: 0,
      lastError: null,
      lastErrorAt: null,
      lastSuccessAt: null,
    });
    record.note({ kind: 'accepted', sid: '1' });
    now += 2 * 60_000;
    record.note({ kind: 'rejected', code: 'NO', reason: 'no such number' });
    record.note({ kind: 'unavailable', reason: 'throttled' });
    expect(record.read()).toEqual({
      submitted: 3,
      rejected: 1,
      failed: 1,
      lastError: 'throttled',
      lastErrorAt: new Date('2026-01-01T00:02:30Z'),
      lastSuccessAt: new Date('2026-01-01T00:00:30Z'),
    });
    now += 3 * 60_000;
    expect(record.read()).toMatchObject({ submitted: 2, rejected: 1, failed: 1 });
    record.note({ kind: 'accepted', sid: '2' });
    now += 4 * 60_000 + 29_000;
    expect(record.read()).toMatchObject({ submitted: 1, rejected: 0, failed: 0, lastError: 'throttled' });
  });

  it.each([
    ['bind to smpp://user:pa55@smsc.example:2775/x refused', 'bind to smpp://smsc.example:2775 refused'],
    ['https://api.example/send?token=s3cret answered 500', 'https://api.example answered 500'],
    ['endpoint "https://push.example/abc/def" is gone', 'endpoint "https://push.example" is gone'],
    ['twilio://AC1:k:e@y@host', 'twilio://host'],
    ['ESME_RTHROTTLED (throttled)', 'ESME_RTHROTTLED (throttled)'],
    ['x'.repeat(400), 'x'.repeat(300)],
  ])('shows %j without anything that may be secret', (words, told) => {
    expect(redactSecrets(words)).toBe(told);
  });
});
