import { recordChange } from '../audit/record-change.ts';
import { ACCOUNT_ROLES } from '../caller.ts';
import type { Dependencies } from '../dependencies.ts';
import { checkAll, DomainError, validationError } from '../errors.ts';
import { CHANNELS, type Channel } from '../messages/message.ts';
import { parseMsisdn } from '../messages/msisdn.ts';
import { operation } from '../operation.ts';
import { checkAmount, checkReference, fromMinor, isCurrency, toMinor } from './money.ts';
import {
  addCosts,
  changedPrices,
  NO_COST,
  type PreviewedAccount,
  type PreviewedCost,
  type PriceChange,
  previewCosts,
} from './price-changes.ts';
import { confirmedPrices, type PriceRow, Tariff } from './tariff.ts';

/** Largest price in minor units. The total of a message to 1,000 recipients at this price is still exact. */
const PRICE_MAX_MINOR = 10 ** 9;

const CHANGES_MAX = 500;
const SLOT_MS = 15 * 60_000;
const DAY_MS = 24 * 3_600_000;
const PREVIEW_DAYS = 30;
const PREVIEW_ROWS_MAX = 50_000;

export interface SetPriceInput {
  readonly currency: string;
  readonly channel: Channel;
  /** Leading digits of the destination number. Empty means all destinations. */
  readonly prefix: string;
  /** Price of one unit, in units of the currency. */
  readonly amount: number;
  /** Identifies the change: a repeated request with the same reference changes nothing. */
  readonly reference?: string | undefined;
}

export interface ChangePricesInput {
  readonly currency: string;
  readonly changes: readonly {
    readonly channel: Channel;
    readonly prefix: string;
    /**
     * Price of one unit, in units of the currency. Null takes the price away. Undefined is a fault, because a program
     * that forgets it must not take a price away.
     */
    readonly amount?: number | null | undefined;
    /** The price that the person saw. Null: there was none. Undefined: any. */
    readonly before?: number | null | undefined;
  }[];
}
export interface PricePreview {
  readonly from: Date;
  readonly to: Date;
  readonly currency: string;
  readonly total: PreviewedCost;
  /** The greatest difference first. */
  readonly accounts: readonly PreviewedAccount[];
}

/** Operations that list and set the prices of messages (R17). */
export function priceOperations(deps: Dependencies) {
  const { stores, uow, clock, ids, settings } = deps;
  return {
    list: operation(
      'price.list',
      { roles: ACCOUNT_ROLES, operator: 'reading' },
      (_caller, _input: Record<string, never>) => stores.prices.all(),
    ),

    /**
     * Changes, adds and takes away several prices of one currency at once (R513). Throws `validation_error` for a faulty
     * change, and if a price is no longer what `before` says.
     */
    change: operation(
      'price.change',
      { operator: true, stepUp: true },
      async (caller, input: ChangePricesInput): Promise<readonly PriceRow[]> => {
        const changes = checkChanges(input);
        const { currency } = input;
        return uow.run(async (tx) => {
          const rows = await tx.prices.lock(currency);
          const amounts = new Map(rows.map((row) => [nameOf(row), row.amountMinor]));
          const outdated = changes.flatMap(({ before, ...change }, index) => {
            const current = amounts.get(nameOf({ ...change, currency })) ?? null;
            if (before === undefined || before === current) return [];
            const now =
              current === null ? 'there is no such price now' : `it is ${fromMinor(current, currency)} now`;
            return [{ path: `changes.${index}.before`, message: `does not hold any more: ${now}` }];
          });
          if (outdated.length > 0) throw validationError(outdated);
          for (const { channel, prefix, amountMinor } of changes) {
            const key = { currency, channel, prefix };
            const before = amounts.get(nameOf(key));
            if (amountMinor === null) await tx.prices.remove(key);
            else await tx.prices.set(ids.uuid(), { ...key, amountMinor, isConfirmed: true }, clock.now());
            await recordChange(tx, deps, caller, {
              accountId: null,
              action: 'price.set',
              target: nameOf(key),
              ...(before === undefined ? {} : { before: { amount: fromMinor(before, currency) } }),
              after: { amount: amountMinor === null ? null : fromMinor(amountMinor, currency) },
            });
          }
          tx.announce('prices', 'all');
          return changedPrices(rows, currency, changes);
        });
      },
    ),

    /** Returns what the traffic of the last 30 days would have cost at changed prices, by account (R514). */
    preview: operation(
      'price.preview',
      { operator: 'reading' },
      async (_caller, input: ChangePricesInput): Promise<PricePreview> => {
        const changes = checkChanges(input);
        const { currency } = input;
        const now = Math.ceil(clock.now().getTime() / SLOT_MS) * SLOT_MS;
        const span = { from: new Date(now - PREVIEW_DAYS * DAY_MS), to: new Date(now) };
        const [all, traffic] = await Promise.all([
          stores.prices.all(),
          stores.platform.count(
            { spans: [span], groupBy: ['account', 'channel', 'country'], environment: 'production' },
            PREVIEW_ROWS_MAX + 1,
          ),
        ]);
        if (traffic.length > PREVIEW_ROWS_MAX) {
          const message = `the last ${PREVIEW_DAYS} days have more than ${PREVIEW_ROWS_MAX} figures of accounts and countries; change the prices without a preview`;
          throw validationError([{ path: 'changes', message }]);
        }
        const before = all.filter((row) => row.currency === currency);
        const after = changedPrices(before, currency, changes);
        const tariffOf = (rows: readonly PriceRow[]) =>
          new Tariff(settings.isProduction ? confirmedPrices(rows) : rows);
        const own = traffic.filter(({ values }) => values.currency === currency);
        const accounts = previewCosts(own, currency, tariffOf(before), tariffOf(after));
        return { ...span, currency, total: accounts.reduce(addCosts, NO_COST), accounts };
      },
    ),

    /**
     * Returns the price that holds for a number, or for a channel without numbers (R515). Undefined if there is none.
     * Throws `validation_error` for a text that is not a number.
     */
    holding: operation(
      'price.holding',
      { roles: ACCOUNT_ROLES, operator: 'reading' },
      async (
        _caller,
        { currency, channel, to }: { currency: string; channel: Channel; to: string },
      ): Promise<PriceRow | undefined> => {
        const hasNumbers = channel === 'sms' || channel === 'whatsapp';
        const number = hasNumbers ? parseMsisdn(to) : '';
        if (number === undefined) {
          const message = 'must be a phone number, such as +256700123456';
          throw validationError([{ path: 'to', message }]);
        }
        const all = await stores.prices.all();
        const inForce = settings.isProduction ? confirmedPrices(all) : all;
        const tariff = new Tariff(inForce);
        const prefix = tariff.prefixFor(currency, channel, number);
        const amountMinor = tariff.unitPrice(currency, channel, number);
        if (prefix === undefined || amountMinor === undefined) return undefined;
        // In production, a shipped price holds for one prefix, under which it is not stored.
        const row = all.find((each) => nameOf(each) === nameOf({ currency, channel, prefix }));
        return { currency, channel, prefix, amountMinor, isConfirmed: row?.isConfirmed ?? false };
      },
    ),

    /**
     * Sets the price of a destination for messages from now on. A repeated `reference` changes nothing. Throws
     * `validation_error` when the reference belongs to another change.
     */
    set: operation(
      'price.set',
      { operator: true, stepUp: true },
      async (caller, input: SetPriceInput): Promise<PriceRow> => {
        const { row, reference } = checkAll({
          row: () => checkPrice(input),
          reference: () => checkReference(input.reference),
        });
        return uow.run(async (tx) => {
          // Without the lock, `change` could overwrite this price although its `before` is outdated.
          await tx.prices.lock(row.currency);
          if (reference !== null && !(await tx.prices.claimReference(reference, row, clock.now()))) {
            const made = (await tx.prices.byReference(reference)) ?? row;
            if (nameOf(made) === nameOf(row) && made.amountMinor === row.amountMinor) return made;
            throw otherChange(made);
          }
          const before = await tx.prices.set(ids.uuid(), row, clock.now());
          tx.announce('prices', 'all');
          await recordChange(tx, deps, caller, {
            accountId: null,
            action: 'price.set',
            target: nameOf(row),
            ...(before === undefined ? {} : { before: { amount: fromMinor(before, row.currency) } }),
            after: { amount: input.amount, reference },
          });
          return row;
        });
      },
    ),
  };
}

function nameOf({ currency, channel, prefix }: Pick<PriceRow, 'currency' | 'channel' | 'prefix'>): string {
  return `${currency} ${channel} ${prefix || '*'}`;
}

function otherChange(made: PriceRow): DomainError {
  const change = `${nameOf(made)} to ${fromMinor(made.amountMinor, made.currency)}`;
  const message = `is the reference of the change of ${change}; use a new reference for another change`;
  return validationError([{ path: 'reference', message }]);
}

function checkPrice(input: SetPriceInput): PriceRow {
  const { currency, channel, prefix, amount } = input;
  const refuse = (path: string, message: string) => validationError([{ path, message }]);
  const { amountMinor } = checkAll({
    channel: () => {
      if (!CHANNELS.includes(channel)) throw refuse('channel', `must be one of ${CHANNELS.join(', ')}`);
    },
    prefix: () => {
      if (/^[0-9]{0,15}$/.test(prefix)) return;
      throw refuse('prefix', 'must be the leading digits of a number, without +');
    },
    // Check the currency first, because it decides how many decimals the amount may have.
    amountMinor: () => {
      if (!isCurrency(currency)) throw refuse('currency', 'must be an ISO 4217 code such as UGX');
      return checkAmount('amount', amount, currency, [0, PRICE_MAX_MINOR]);
    },
  });
  return { currency, channel, prefix, amountMinor, isConfirmed: true };
}

/** A checked change, and the price that the person saw. */
type CheckedChange = PriceChange & { readonly before: number | null | undefined };

/** Checks the changes of several prices. Throws one `validation_error` that names all faults. */
function checkChanges({ currency, changes }: ChangePricesInput): readonly CheckedChange[] {
  if (!isCurrency(currency)) {
    throw validationError([{ path: 'currency', message: 'must be an ISO 4217 code such as UGX' }]);
  }
  if (changes.length === 0 || changes.length > CHANGES_MAX) {
    throw validationError([{ path: 'changes', message: `must have 1 to ${CHANGES_MAX} changes` }]);
  }
  const faults: { path: string; message: string }[] = [];
  const names = new Set<string>();
  const checked = changes.map(({ channel, prefix, amount, before }, index): CheckedChange => {
    const name = nameOf({ currency, channel, prefix });
    if (names.has(name)) {
      faults.push({
        path: `changes.${index}.prefix`,
        message: 'is there twice; give one change for each prefix',
      });
    }
    names.add(name);
    if (amount === undefined) {
      faults.push({
        path: `changes.${index}.amount`,
        message: 'must be given: the price, or null to take it away',
      });
    }
    try {
      const { amountMinor } = checkPrice({ currency, channel, prefix, amount: amount ?? 0 });
      const seen = before === undefined || before === null ? before : toMinor(before, currency);
      return { channel, prefix, amountMinor: amount === null ? null : amountMinor, before: seen };
    } catch (error) {
      if (error instanceof RangeError) {
        faults.push({ path: `changes.${index}.before`, message: error.message });
      } else if (error instanceof DomainError && error.faults.length > 0) {
        faults.push(...error.faults.map((fault) => ({ ...fault, path: `changes.${index}.${fault.path}` })));
      } else throw error;
      return { channel, prefix, amountMinor: null, before: undefined };
    }
  });
  if (faults.length > 0) throw validationError(faults);
  return checked;
}
