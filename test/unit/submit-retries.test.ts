import { describe, expect, it } from '@jest/globals';
import { retryDelayMs } from '../../src/domain/messages/submit-retries.ts';

describe('pauses between hand-overs to a carrier', () => {
  it('of an email are 10 s, 30 s, 2 min, then double up to four hours (R23)', () => {
    const minutes = Array.from({ length: 13 }, (_, attempt) => retryDelayMs('email', attempt) / 60_000);
    expect(minutes).toEqual([1 / 6, 0.5, 2, 4, 8, 16, 32, 64, 128, 240, 240, 240, 240]);
  });

  it('of other channels begin at one second and double up to five minutes', () => {
    for (const channel of ['sms', 'push', 'whatsapp'] as const) {
      const seconds = Array.from({ length: 11 }, (_, attempt) => retryDelayMs(channel, attempt) / 1_000);
      expect(seconds).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]);
    }
  });

  it('double up to an hour when the carrier may have accepted the message', () => {
    const seconds = Array.from({ length: 16 }, (_, attempt) => retryDelayMs('sms', attempt, true) / 1_000);
    expect(seconds.slice(0, 11)).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_024]);
    expect(seconds.slice(11)).toEqual([2_048, 3_600, 3_600, 3_600, 3_600]);
    let [tries, atMs] = [0, 0];
    for (; atMs < 24 * 3_600_000; tries += 1) atMs += retryDelayMs('sms', tries, true);
    expect(tries).toBe(35);
    expect(retryDelayMs('email', 12, true)).toBe(retryDelayMs('email', 12));
  });
});
