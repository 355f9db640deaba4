import type { PriceRow } from '../../domain/money/tariff.ts';
import type { PriceStore } from '../../domain/ports/account-stores.ts';
import { type Sql, statement } from '../postgres/sql.ts';

type PriceColumns = Omit<PriceRow, 'amountMinor' | 'isConfirmed'> & { readonly amount_minor: number };

type PriceRowColumns = PriceColumns & { readonly is_confirmed: boolean };
const COLUMNS = ['currency', 'channel', 'prefix', 'amount_minor', 'is_confirmed'] as const;
/** Changes of several prices wait for each other. */
const LOCK = statement('prices-lock', 'SELECT pg_advisory_xact_lock(4872393)');

/** Stores prices (R17). */
export class PgPriceStore implements PriceStore {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  async all(): Promise<readonly PriceRow[]> {
    const rows: PriceRowColumns[] = await this.#sql
      .table('prices')
      .orderBy(['currency', 'channel', 'prefix'])
      .select(...COLUMNS);
    return rows.map(priceOf);
  }

  async lock(currency: string): Promise<readonly PriceRow[]> {
    // A lock of rows would let two changes add the same row.
    await this.#sql.query(LOCK, []);
    const rows: PriceRowColumns[] = await this.#sql
      .table('prices')
      .where({ currency })
      .select(...COLUMNS);
    return rows.map(priceOf);
  }

  async remove({
    currency,
    channel,
    prefix,
  }: Pick<PriceRow, 'currency' | 'channel' | 'prefix'>): Promise<void> {
    await this.#sql.table('prices').where({ currency, channel, prefix }).delete();
  }

  async set(id: string, row: PriceRow, at: Date): Promise<number | undefined> {
    const key = { currency: row.currency, channel: row.channel, prefix: row.prefix };
    const before: { amount_minor: number } | undefined = await this.#sql
      .table('prices')
      .where(key)
      .forUpdate()
      .first('amount_minor');
    await this.#sql
      .table('prices')
      .insert({ id, ...key, amount_minor: row.amountMinor, is_confirmed: true, updated_at: at })
      .onConflict(['currency', 'channel', 'prefix'])
      .merge(['amount_minor', 'is_confirmed', 'updated_at']);
    return before?.amount_minor;
  }

  async claimReference(reference: string, row: PriceRow, at: Date): Promise<boolean> {
    const claimed: unknown[] = await this.#sql
      .table('price_references')
      .insert({
        reference,
        currency: row.currency,
        channel: row.channel,
        prefix: row.prefix,
        amount_minor: row.amountMinor,
        set_at: at,
      })
      .onConflict('reference')
      .ignore()
      .returning('reference');
    return claimed.length > 0;
  }

  async byReference(reference: string): Promise<PriceRow | undefined> {
    const row: PriceColumns | undefined = await this.#sql
      .table('price_references')
      .where({ reference })
      .first('currency', 'channel', 'prefix', 'amount_minor');
    return (
      row && {
        currency: row.currency,
        channel: row.channel,
        prefix: row.prefix,
        amountMinor: row.amount_minor,
        isConfirmed: true,
      }
    );
  }
}

function priceOf(row: PriceRowColumns): PriceRow {
  return {
    currency: row.currency,
    channel: row.channel,
    prefix: row.prefix,
    amountMinor: row.amount_minor,
    isConfirmed: row.is_confirmed,
  };
}
