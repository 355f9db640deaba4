import type { AccountCaller, Caller } from '../caller.ts';
import type { Dependencies } from '../dependencies.ts';
import { forbidden, notFound } from '../errors.ts';
import { Tariff } from '../money/tariff.ts';
import type { SendContext } from './accept-message.ts';

/** People who may send. */
export const SENDERS = ['OWNER', 'ADMIN', 'DEVELOPER'] as const;

/** What every channel's send is built on; prices and currencies are kept until they change. */
export function createSendContext(deps: Dependencies): SendContext {
  const { stores } = deps;
  const tariffs = deps.createCache('prices', async () => new Tariff(await stores.prices.all()));
  const currencies = deps.createCache('account', async (id) => {
    const account = await stores.accounts.find(id);
    if (!account) throw notFound('Account');
    return account.currency;
  });
  return {
    budgets: deps.budgets,
    intake: deps.intake,
    routing: deps.routing,
    clock: deps.clock,
    ids: deps.ids,
    defaultSenderId: deps.settings.defaultSenderId,
    emailFrom: deps.settings.emailFrom,
    tariff: () => tariffs.get('all'),
    currencyOf: (accountId) => currencies.get(accountId),
  };
}

/** The caller as one who sends. Throws `forbidden` for operators and the system, who belong to no account. */
export function senderOf(caller: Caller): AccountCaller {
  if (caller.kind === 'api-key' || caller.kind === 'member') return caller;
  throw forbidden('Only a key or a member of an account can send.');
}
