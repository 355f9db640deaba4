import { checkLimit } from '../api-keys/api-key-rules.ts';
import { recordChange } from '../audit/record-change.ts';
import type { Dependencies } from '../dependencies.ts';
import { checkAll, notFound, validationError } from '../errors.ts';
import { operation } from '../operation.ts';
import { ALL_IDS } from '../ports/changes.ts';
import type { Account, Plan } from './account.ts';

const NAME_MAX_LENGTH = 100;
const OPERATORS = { operator: true } as const;

/**
 * Operations on plans: limits on the requests of the keys and people of an account (R12). A key may have its own
 * limits.
 */
export function planOperations(deps: Dependencies) {
  const { stores, uow, clock, ids } = deps;
  return {
    list: operation('plan.list', { operator: 'reading' }, (_caller, _input: Record<string, never>) =>
      stores.plans.all(),
    ),

    /** Creates the plan of that name or changes it. Its accounts get the new limits within a second. */
    set: operation('plan.set', { ...OPERATORS, stepUp: true }, async (caller, plan: Plan): Promise<Plan> => {
      const { name, perMinute, perSecond, webhooksPerMinute, sessionPerMinute } = plan;
      checkAll({
        name: () => {
          if (name.length >= 1 && name.length <= NAME_MAX_LENGTH) return;
          throw validationError([{ path: 'name', message: `must have 1 to ${NAME_MAX_LENGTH} characters` }]);
        },
        perMinute: () => checkLimit('perMinute', perMinute, 1),
        perSecond: () => checkLimit('perSecond', perSecond, 0),
        webhooksPerMinute: () => checkLimit('webhooksPerMinute', webhooksPerMinute, 1),
        sessionPerMinute: () => checkLimit('sessionPerMinute', sessionPerMinute, 1),
      });
      const after: Plan = { name, perMinute, perSecond, webhooksPerMinute, sessionPerMinute };
      await uow.run(async (tx) => {
        const before = await tx.plans.set(ids.uuid(), after, clock.now());
        // Drop cached keys and accounts, because they hold the limits of their plan.
        tx.announce('api-key', ALL_IDS);
        tx.announce('account', ALL_IDS);
        await recordChange(tx, deps, caller, {
          accountId: null,
          action: 'plan.set',
          target: name,
          ...(before ? { before } : {}),
          after,
        });
      });
      return after;
    }),

    /**
     * Assigns a plan to an account. A null `plan` removes the account's plan, so that the RATE_LIMIT_* variables apply.
     */
    assign: operation(
      'account.setPlan',
      { ...OPERATORS, stepUp: true },
      async (caller, input: { readonly accountId: string; readonly plan: string | null }): Promise<Account> =>
        uow.run(async (tx) => {
          const before = await tx.accounts.find(input.accountId);
          if (!before) throw notFound('Account');
          if (!(await tx.plans.assign(before.id, input.plan))) throw notFound('Plan');
          tx.announce('api-key', ALL_IDS);
          tx.announce('account', before.id);
          await recordChange(tx, deps, caller, {
            accountId: before.id,
            action: 'account.setPlan',
            target: before.id,
            before: { plan: before.plan?.name ?? null },
            after: { plan: input.plan },
          });
          const after = await tx.accounts.find(before.id);
          if (!after) throw notFound('Account');
          return after;
        }),
    ),
  };
}
