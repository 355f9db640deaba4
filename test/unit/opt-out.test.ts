import { describe, expect, it } from '@jest/globals';
import { withReplyWayOut, withWayOut } from '../../src/domain/messages/opt-out.ts';

const TERMS = { purpose: 'marketing', publicUrl: 'https://sms.example' } as const;

describe('the way out of marketing (R531)', () => {
  it.each([
    'Reply STOP to end',
    'Text "STOP" to end',
    'Répondez STOP pour ne plus recevoir',
    'Jibu STOP',
    'Answer with *STOP*',
    'Mangoes. STOP ends this.',
    'STOP to opt out',
  ])('a WhatsApp text names it: %s', (text) => {
    expect(withReplyWayOut(text, 'marketing')).toBe(text);
  });

  it.each(['STOP overpaying!', 'The bus STOP is near', 'Do not stop reading', 'Mangoes'])(
    'a WhatsApp text does not name it: %s',
    (text) => {
      expect(withReplyWayOut(text, 'marketing')).toBe(`${text}\nReply STOP to get no more offers.`);
      expect(withReplyWayOut(text, 'otp')).toBe(text);
    },
  );

  it('an SMS has it by its place or by a whole link, not by the path alone', () => {
    expect(withWayOut('Mangoes {{optOut}}', TERMS)).toBe('Mangoes {{optOut}}');
    const resent = 'Mangoes https://sms.example/o/own-link-per-recipient';
    expect(withWayOut(resent, TERMS)).toBe(resent);
    const path = 'Mangoes /o/own-link-per-recipient';
    expect(withWayOut(path, TERMS)).toBe(`${path}\nStop: {{optOut}}`);
  });
});
