import { describe, expect, it } from '@jest/globals';
import { sanitizeOutcome, sanitizeReport } from '../../src/domain/messages/sanitize-provider-text.ts';

describe('text from a provider', () => {
  it('is stored unchanged when PostgreSQL can store it', () => {
    const accepted = { kind: 'accepted', sid: 'a-1', partSids: ['a-1', 'é🙂'] } as const;
    const unavailable = {
      kind: 'unavailable',
      reason: 'busy',
      retryAfterMs: 5,
      definitelyNotSent: true,
    } as const;
    const report = { sid: 'a-1', status: 'failed', to: '256700123456', code: '8', reason: 'no' } as const;
    expect(sanitizeOutcome(accepted)).toEqual(accepted);
    expect(sanitizeOutcome(unavailable)).toEqual(unavailable);
    expect(sanitizeReport(report)).toEqual(report);
    expect(sanitizeReport({ sid: 'a-1', status: 'read' })).toEqual({ sid: 'a-1', status: 'read' });
  });

  it.each([
    ['U+0000', 'a\0b', 'a\uFFFDb'],
    ['half a character', 'a\uD800b', 'a\uFFFDb'],
    ['12,000 characters', 'é'.repeat(12_000), 'é'.repeat(500)],
    ['a character across the limit', `${'x'.repeat(499)}🙂`, `${'x'.repeat(499)}\uFFFD`],
  ])('with %s becomes the same storable sid in the answer and in the report', (_what, sid, stored) => {
    expect(sanitizeOutcome({ kind: 'accepted', sid, partSids: [sid] })).toEqual({
      kind: 'accepted',
      sid: stored,
      partSids: [stored],
    });
    expect(sanitizeReport({ sid, status: 'delivered' }).sid).toBe(stored);
  });

  it('becomes a storable code and reason', () => {
    const [code, reason] = ['5\0'.repeat(1_000), 'no \0 such user'.repeat(1_000)];
    const rejected = sanitizeOutcome({ kind: 'rejected', code, reason });
    const unavailable = sanitizeOutcome({ kind: 'unavailable', reason });
    const report = sanitizeReport({ sid: 'a', status: 'failed', to: '2\0', code, reason });
    for (const said of [rejected, unavailable, report]) {
      const texts = Object.values(said).map(String);
      expect(texts.filter((text) => text.includes('\0') || text.length > 1_000)).toEqual([]);
    }
    expect(rejected).toMatchObject({ code: '5\uFFFD'.repeat(50) });
    expect(report.reason).toMatch(/^no \uFFFD such user/);
  });
});
