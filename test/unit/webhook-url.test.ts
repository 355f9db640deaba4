import { describe, expect, it } from '@jest/globals';
import { isMasked, maskedUrl } from '../../src/domain/webhooks/webhook-url.ts';

describe('the webhook URL in lists and in the audit log (R212)', () => {
  it.each([
    ['https://example.com/hook', 'https://example.com/hook'],
    ['https://example.com/hook?token=s3cret', 'https://example.com/hook?token=***'],
    ['https://example.com/?a=1&b=&c&=d&&e=f=g', 'https://example.com/?a=***&b=&***&=***&&e=***'],
    ['https://example.com/?s3cret', 'https://example.com/?***'],
    ['https://example.com/hook#s3cret', 'https://example.com/hook#***'],
    ['https://example.com/a@b?x=1#y?z=2', 'https://example.com/a@b?x=***#***'],
    ['https://user:s3cret@example.com/', 'https://***@example.com/'],
    ['https://us@er:s3cret@example.com?x=y', 'https://***@example.com?x=***'],
    ['https://example.com/?', 'https://example.com/?'],
    ['nonsense?x=y', 'nonsense?x=***'],
    ['', ''],
  ])('%s is %s', (url, shown) => {
    expect(maskedUrl(url)).toBe(shown);
    expect(maskedUrl(shown)).toBe(shown);
  });

  it('a masked URL in an update is recognised', () => {
    expect(isMasked('https://example.com/hook?token=***')).toBe(true);
    expect(isMasked('https://example.com/?***')).toBe(true);
    expect(isMasked('https://example.com/?a=***&b=1')).toBe(true);
    for (const whole of [
      'https://example.com/***',
      'https://example.com/?a=****',
      'https://example.com/?a=1',
    ])
      expect(isMasked(whole)).toBe(false);
  });
});
