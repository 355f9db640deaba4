import { ACCOUNT_ROLES, accountIdOf } from '../caller.ts';
import type { Dependencies } from '../dependencies.ts';
import { validationError } from '../errors.ts';
import { operation } from '../operation.ts';
import type { PricedUsageRow, UsageInterval, UsageQuery } from './usage.ts';

const DAY_MS = 24 * 3_600_000;
/** Longest time span of a query in ms, by interval. It keeps the answer small. */
const LONGEST_MS: Readonly<Record<UsageInterval, number>> = {
  hour: 32 * DAY_MS,
  day: 367 * DAY_MS,
  month: 3_660 * DAY_MS,
};

/** Operations on the message counts of an account. */
export function usageOperations({ stores }: Pick<Dependencies, 'stores'>) {
  return {
    /** Returns the counts of all committed messages by time. Leaves out intervals without messages. */
    query: operation(
      'usage.query',
      { roles: ACCOUNT_ROLES },
      async (caller, input: UsageQuery): Promise<readonly PricedUsageRow[]> => {
        const spanMs = input.to.getTime() - input.from.getTime();
        if (spanMs <= 0) throw validationError([{ path: 'to', message: 'must be later than from' }]);
        if (spanMs > LONGEST_MS[input.interval]) {
          const days = LONGEST_MS[input.interval] / DAY_MS;
          const message = `must be at most ${days} days after from where the interval is ${input.interval.toUpperCase()}`;
          throw validationError([{ path: 'to', message }]);
        }
        const accountId = accountIdOf(caller);
        const [rows, currency] = await Promise.all([
          stores.usage.query(accountId, input),
          stores.usage.currencyOf(accountId),
        ]);
        return rows.map((row) => ({ ...row, currency }));
      },
    ),
  };
}
