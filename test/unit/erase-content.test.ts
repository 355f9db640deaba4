import { describe, expect, it } from '@jest/globals';
import {
  erasedAnswer,
  erasedEnvelope,
  erasedPayload,
  isOnlyTheirs,
  theirs,
} from '../../src/domain/recipients/erase-content.ts';
import { checkPersonalAddress } from '../../src/domain/recipients/personal-address.ts';

const ANN = '+256700000901';
const isTheirs = theirs([
  { kind: 'phone', address: ANN },
  { kind: 'email', address: 'ann@example.com' },
  { kind: 'user', address: 'ann-1' },
  { kind: 'device', address: 'ios:d1' },
]);
const to = (...addresses: string[]) => addresses.map((address, position) => ({ address, position }));

describe('what an erasure removes (R491)', () => {
  it('knows the person by each address, and a device by its id', () => {
    for (const text of [ANN, 'Ann@Example.com', 'ann-1', 'ios:d1', 'd1']) expect(isTheirs(text)).toBe(true);
    for (const text of ['ANN-1', '+2567000009011', 'joann@example.com', ''])
      expect(isTheirs(text)).toBe(false);
  });

  it('takes a text only when nobody else got it, copies and earlier erased people included', () => {
    const only = (recipients: string[], payload: Record<string, unknown> | null = null) =>
      isOnlyTheirs({ payload, recipients: to(...recipients) }, isTheirs);
    expect(only([ANN])).toBe(true);
    expect(only([ANN, 'erased'])).toBe(true);
    expect(only([ANN, '+256700000902'])).toBe(false);
    expect(only(['ann@example.com'], { cc: ['ben@example.com'], bcc: [] })).toBe(false);
    expect(only(['ann@example.com'], { cc: ['ANN@example.com'], bcc: [] })).toBe(true);
    // The addresses of push recipients are devices, which may be gone. The payload says whose they were.
    expect(only(['ios:gone'], { userIds: ['ann-1'], deviceIds: [] })).toBe(true);
    expect(only(['ios:gone'], { userIds: ['ann-1', 'ben'], deviceIds: [] })).toBe(false);
  });

  it('keeps the length of lists, and the text of others in a payload', () => {
    const payload = { subject: 'Hi', cc: ['Ann@example.com', 'ben@example.com'], bcc: [] };
    const message = { payload, recipients: to('ben@example.com') };
    expect(erasedPayload(message, isTheirs, false)).toEqual({
      ...payload,
      cc: ['erased', 'ben@example.com'],
    });
    expect(erasedPayload({ ...message, payload: { subject: 'Hi', cc: [] } }, isTheirs, true)).toEqual({
      subject: '',
      cc: [],
    });
    expect(erasedPayload({ ...message, payload: null }, isTheirs, true)).toBeNull();
  });

  it('takes what the provider said from an event, and the text if it is only theirs', () => {
    const data = { to: ANN, from: 'Shop', message: 'Dear Ann', sid: 's-1', error: `no such ${ANN}` };
    const body = JSON.stringify({ event: 'sms.failed', messageId: 'm', data });
    expect(JSON.parse(erasedEnvelope(body, isTheirs, { isOwn: true, isWhole: false })).data).toEqual({
      to: 'erased',
      from: 'Shop',
      message: 'Dear Ann',
      sid: '',
      error: '',
    });
    const whole = erasedEnvelope(body, isTheirs, { isOwn: true, isWhole: true });
    expect(whole).toBe(
      '{"event":"sms.failed","messageId":"m","data":{"to":"erased","from":"Shop","message":"","sid":"","error":""}}',
    );
  });

  it('takes the person from a stored answer, and the text if it is only theirs', () => {
    const answer = { id: 'm', sid: 's-1', to: [ANN], content: 'Dear Ann', cost: 30 };
    expect(JSON.parse(erasedAnswer(JSON.stringify(answer), isTheirs))).toEqual({
      ...answer,
      sid: null,
      to: ['erased'],
      content: '',
    });
    const shared = { ...answer, to: [ANN, '+256700000902'] };
    expect(JSON.parse(erasedAnswer(JSON.stringify(shared), isTheirs))).toMatchObject({
      to: ['erased', '+256700000902'],
      content: 'Dear Ann',
    });
  });
});

describe('the address of a person (R490)', () => {
  it('is stored in one form, and a user id only by its kind', () => {
    expect(checkPersonalAddress('0700 000 901')).toEqual({ kind: 'phone', address: ANN });
    expect(checkPersonalAddress('Ann@Example.com')).toEqual({ kind: 'email', address: 'ann@example.com' });
    expect(checkPersonalAddress('0700000901', 'user')).toEqual({ kind: 'user', address: '0700000901' });
    for (const [raw, kind] of [['ann'], [''], ['ann@', 'email'], ['x', 'phone'], ['', 'user']] as const) {
      expect(() => checkPersonalAddress(raw, kind)).toThrow(
        expect.objectContaining({ code: 'validation_error' }),
      );
    }
  });
});
