import type { PriceRow } from '../domain/money/tariff.ts';
import type { PriceStore } from '../domain/ports/stores.ts';
import type { Sql } from './sql.ts';

/** Prices (decision 17). */
export class PgPriceStore implements PriceStore {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async all(): Promise<readonly PriceRow[]> {
    const rows: { currency: string; channel: string; prefix: string; amount_minor: number }[] = await this.#sql
      .table('prices')
      .orderBy(['currency', 'channel', 'prefix'])
      .select('currency', 'channel', 'prefix', 'amount_minor');
    return rows.map((row) => ({
      currency: row.currency,
      channel: row.channel,
      prefix: row.prefix,
      amountMinor: row.amount_minor,
    }));
  }
}
