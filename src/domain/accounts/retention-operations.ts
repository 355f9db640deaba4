import { recordChange } from '../audit/record-change.ts';
import type { Dependencies } from '../dependencies.ts';
import { notFound, validationError } from '../errors.ts';
import { operation } from '../operation.ts';
import type { RetentionDays } from './account.ts';
import { namedAccountId } from './account-operations.ts';

/** A century: longer is for ever. */
export const RETENTION_MAX_DAYS = 36_500;

export interface SetRetentionInput extends RetentionDays {
  /** Absent for the caller's own account. */
  readonly accountId?: string | null | undefined;
}

/** How long an account keeps its messages. */
export function retentionOperations({ uow, clock, ids }: Pick<Dependencies, 'uow' | 'clock' | 'ids'>) {
  return {
    /**
     * From now on the text of a message is erased `contentDays` after its acceptance and the message is deleted
     * after `messageDays`, which are no fewer; null keeps for ever. What is forgotten cannot be had back.
     */
    setRetention: operation(
      'account.setRetention',
      { roles: ['OWNER'], operator: true },
      async (caller, { accountId, contentDays, messageDays }: SetRetentionInput): Promise<RetentionDays> => {
        const id = namedAccountId(caller, accountId);
        checkDays('contentDays', contentDays);
        checkDays('messageDays', messageDays);
        if (contentDays !== null && messageDays !== null && messageDays < contentDays) {
          throw validationError([{ path: 'messageDays', message: 'must not be fewer than contentDays' }]);
        }
        const retention = { contentDays, messageDays };
        await uow.run(async (tx) => {
          const before = await tx.accounts.setRetention(id, retention);
          if (!before) throw notFound('Account');
          await recordChange(tx, { clock, ids }, caller, {
            accountId: id,
            action: 'account.setRetention',
            target: id,
            before,
            after: retention,
          });
        });
        return retention;
      },
    ),
  };
}

function checkDays(path: string, days: number | null): void {
  if (days === null || (Number.isInteger(days) && days >= 1 && days <= RETENTION_MAX_DAYS)) return;
  throw validationError([{ path, message: `must be a whole number from 1 to ${RETENTION_MAX_DAYS}` }]);
}
