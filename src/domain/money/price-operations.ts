import { recordChange } from '../audit/record-change.ts';
import { ACCOUNT_ROLES } from '../caller.ts';
import type { Dependencies } from '../dependencies.ts';
import { checkAll, type DomainError, validationError } from '../errors.ts';
import { CHANNELS, type Channel } from '../messages/message.ts';
import { operation } from '../operation.ts';
import { checkAmount, checkReference, fromMinor, isCurrency } from './money.ts';
import type { PriceRow } from './tariff.ts';

/** Largest price in minor units. The total of a message to 1,000 recipients at this price is still exact. */
const PRICE_MAX_MINOR = 10 ** 9;

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

/** Operations that list and set the prices of messages (R17). */
export function priceOperations(deps: Dependencies) {
  const { stores, uow, clock, ids } = deps;
  return {
    list: operation(
      'price.list',
      { roles: ACCOUNT_ROLES, operator: 'reading' },
      (_caller, _input: Record<string, never>) => stores.prices.all(),
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

function nameOf({ currency, channel, prefix }: PriceRow): string {
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
