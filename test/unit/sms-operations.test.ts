import { describe, expect, it } from '@jest/globals';
import { DomainError } from '../../src/domain/errors.ts';
import { priceSms, type SmsRequest } from '../../src/domain/messages/sms-operations.ts';
import { Tariff } from '../../src/domain/money/tariff.ts';

const now = new Date('2026-03-01T09:00:00.000Z');
const tariff = new Tariff([
  { currency: 'UGX', channel: 'sms', prefix: '256', amountMinor: 30 },
  { currency: 'UGX', channel: 'sms', prefix: '254', amountMinor: 45 },
]);
const price = (request: Partial<SmsRequest>) =>
  priceSms(
    { to: '+256700000001', message: 'Hello', ...request },
    { tariff, currency: 'UGX', defaultSenderId: 'SERVICE', publicUrl: 'https://msg.example', now },
  );
const codeOf = (request: Partial<SmsRequest>) => {
  try {
    price(request);
  } catch (error) {
    if (error instanceof DomainError) return error.code;
    throw error;
  }
  return undefined;
};

describe('priceSms', () => {
  it('charges each recipient the price of its prefix for each billing unit [R17] [R99] [R194]', () => {
    const { recipients, unitPriceMinor } = price({
      to: '0700000001, +254700000001',
      message: 'x'.repeat(161),
    });
    expect(recipients).toEqual([
      { address: '+256700000001', costMinor: 60 },
      { address: '+254700000001', costMinor: 90 },
    ]);
    expect(unitPriceMinor).toBe(30);
  });

  it('skips invalid numbers and removes duplicates [R97] [R98]', () => {
    const { recipients, skipped, duplicatesRemoved } = price({ to: '0700000001,12,256700000001' });
    expect(recipients.map(({ address }) => address)).toEqual(['+256700000001']);
    expect(skipped).toEqual(['12']);
    expect(duplicatesRemoved).toBe(1);
  });

  it('uses the default sender ID, and no schedule for a time that is less than a minute ago [R18] [R22]', () => {
    expect(price({ scheduledFor: '2026-03-01T08:59:30Z' })).toMatchObject({
      from: 'SERVICE',
      scheduledFor: null,
    });
  });

  it.each([
    ['an empty text', { message: '' }, 'validation_error'],
    ['a text of 1001 code units', { message: 'x'.repeat(1001) }, 'message_too_long'],
    ['a sender ID with a space', { from: 'A B' }, 'invalid_sender_id'],
    ['a time in the past', { scheduledFor: '2026-03-01T08:58:59Z' }, 'invalid_scheduled_time'],
    ['a time more than 30 days ahead', { scheduledFor: '2026-03-31T09:00:01Z' }, 'invalid_scheduled_time'],
    ['no valid number', { to: '12' }, 'invalid_phone_number'],
    ['a destination without a price', { to: '+447911123456' }, 'unpriced_destination'],
  ])('refuses %s [R3]', (_what, request, code) => {
    expect(codeOf(request)).toBe(code);
  });
});
