import { describe, expect, it } from '@jest/globals';
import { changedPrices, type PricedTraffic, previewCosts } from '../../src/domain/money/price-changes.ts';
import { type PriceRow, Tariff } from '../../src/domain/money/tariff.ts';

const price = (prefix: string, amountMinor: number): PriceRow => ({
  currency: 'UGX',
  channel: 'sms',
  prefix,
  amountMinor,
  isConfirmed: true,
});
const traffic = (
  accountId: string,
  prefix: string,
  recipients: number,
  costMinor: number,
): PricedTraffic => ({
  values: { accountId, accountName: accountId, channel: 'sms', prefix },
  recipients,
  costMinor,
});
const preview = (rows: readonly PricedTraffic[], before: readonly PriceRow[], after: readonly PriceRow[]) =>
  previewCosts(rows, 'UGX', new Tariff(before), new Tariff(after));

describe('changes of prices', () => {
  it('add, replace and take away rows, and confirm what they change (R513)', () => {
    const shipped = { ...price('', 30), isConfirmed: false };
    const changes = [
      { channel: 'sms', prefix: '', amountMinor: 35 },
      { channel: 'sms', prefix: '25677', amountMinor: 20 },
      { channel: 'sms', prefix: '44', amountMinor: null },
    ] as const;
    expect(changedPrices([shipped, price('44', 90), price('1', 50)], 'UGX', changes)).toEqual([
      price('', 35),
      price('1', 50),
      price('25677', 20),
    ]);
  });
});

describe('the preview of prices (R514)', () => {
  it('scales what was charged by the change of the price that holds, so units of long texts count', () => {
    const rows = [traffic('shop', '+2567', 10, 600), traffic('shop', '+4477', 1, 90)];
    const [shop] = preview(rows, [price('', 30), price('44', 90)], [price('', 40), price('44', 90)]);
    expect(shop).toEqual({
      accountId: 'shop',
      name: 'shop',
      costMinor: 690,
      leastMinor: 890,
      mostMinor: 890,
      refusedRecipients: 0,
    });
  });

  it('gives the least and the most where a price is for more digits than the figures have', () => {
    const [shop] = preview(
      [traffic('shop', '+2567', 10, 300)],
      [price('', 30)],
      [price('', 30), price('25677', 20)],
    );
    expect(shop).toMatchObject({ costMinor: 300, leastMinor: 200, mostMinor: 300 });
  });

  it('counts a unit for each recipient of what was free, and the recipients without a price', () => {
    const [now] = preview([traffic('shop', '+2567', 10, 0)], [price('', 0)], [price('', 5)]);
    expect(now).toMatchObject({ costMinor: 0, leastMinor: 50, mostMinor: 50, refusedRecipients: 0 });
    const [refused] = preview([traffic('shop', '+4477', 3, 270)], [price('44', 90)], [price('256', 30)]);
    expect(refused).toMatchObject({ costMinor: 270, leastMinor: 0, mostMinor: 0, refusedRecipients: 3 });
  });

  it('puts the account with the greatest difference first', () => {
    const rows = [traffic('small', '+2567', 1, 30), traffic('large', '+2567', 9, 270)];
    expect(preview(rows, [price('', 30)], [price('', 20)]).map(({ accountId }) => accountId)).toEqual([
      'large',
      'small',
    ]);
  });
});
