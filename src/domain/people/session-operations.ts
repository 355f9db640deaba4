import { type Alert, personOf } from '../alerts/alert.ts';
import { changeAlerts } from '../alerts/change-alerts.ts';
import { recordChange } from '../audit/record-change.ts';
import { ACCOUNT_ROLES, type Caller } from '../caller.ts';
import type { Dependencies } from '../dependencies.ts';
import { notFound } from '../errors.ts';
import { operation } from '../operation.ts';
import { ALL_IDS } from '../ports/changes.ts';
import type { SessionRow } from '../ports/people-stores.ts';
import { isUuid } from '../uuid.ts';
import { deviceOf } from './device.ts';
import { userIdOf } from './second-factor-operations.ts';

/** A session in the list that its person sees. */
export interface ListedSession extends SessionRow {
  /** True if it is the session of the request. */
  readonly current: boolean;
  /** Browser and operating system, such as `Firefox on Linux`. */
  readonly device: string;
  /** True if the person signed in at an identity provider. */
  readonly singleSignOn: boolean;
}

export interface ConfirmSignInInput {
  /** The alert about the sign-in. */
  readonly alertId: string;
}

const PEOPLE = { roles: ACCOUNT_ROLES, operator: 'reading' } as const;

/** Operations on the caller's sessions (R249). */
export function sessionOperations(deps: Dependencies) {
  const { stores, uow, clock } = deps;
  const record = (tx: Parameters<typeof recordChange>[0], caller: Caller, after: object) =>
    recordChange(tx, deps, caller, {
      accountId: caller.kind === 'member' ? caller.accountId : null,
      action: 'session.end',
      target: userIdOf(caller),
      after,
    });

  return {
    /** Lists the sessions that have not ended, newest first. `sessionHash` identifies the session of the request. */
    list: operation(
      'session.list',
      PEOPLE,
      async (
        caller,
        { sessionHash }: { readonly sessionHash: Buffer | undefined },
      ): Promise<readonly ListedSession[]> => {
        const found = await stores.sessions.listOf(userIdOf(caller), clock.now());
        return found.map(({ tokenHash, ...row }) => ({
          ...row,
          expiresAt: row.expiresAt < row.endsAt ? row.expiresAt : row.endsAt,
          current: sessionHash !== undefined && tokenHash.equals(sessionHash),
          device: deviceOf(row.userAgent),
          singleSignOn: row.identityId !== null,
        }));
      },
    ),

    /** Ends one session of the person. Throws `not_found` for another person's session and for one that has ended. */
    end: operation('session.end', PEOPLE, async (caller, { id }: { readonly id: string }): Promise<void> => {
      const found = await stores.sessions.listOf(userIdOf(caller), clock.now());
      const session = found.find((candidate) => candidate.id === id.toLowerCase());
      if (!session) throw notFound('Session');
      await uow.run(async (tx) => {
        await tx.sessions.remove(session.tokenHash);
        tx.announce('session', session.tokenHash.toString('hex'));
        await record(tx, caller, { address: session.address, device: deviceOf(session.userAgent) });
      });
    }),

    /** Ends all sessions of the person except the session of the request. */
    endOthers: operation(
      'session.endOthers',
      PEOPLE,
      async (caller, { sessionHash }: { readonly sessionHash: Buffer }): Promise<void> => {
        await uow.run(async (tx) => {
          await tx.sessions.removeOf(userIdOf(caller), sessionHash);
          tx.announce('session', ALL_IDS);
          await record(tx, caller, { others: true });
        });
      },
    ),

    /**
     * Resolves an alert about a sign-in of the caller from a new country, because it was the caller (R488). Returns the
     * alert also if it was resolved before. Throws `not_found` for any other alert.
     */
    confirmSignIn: operation(
      'session.confirmSignIn',
      PEOPLE,
      async (caller, { alertId }: ConfirmSignInInput): Promise<Alert> => {
        const id = alertId.toLowerCase();
        const found = isUuid(id) ? await stores.alerts.find(id) : undefined;
        if (!found || personOf(found) !== userIdOf(caller)) throw notFound('Alert');
        const { accountId, detail } = found;
        return uow.run(async (tx) => {
          const rules = await tx.alerts.ruleChanges([accountId]);
          const open = await tx.alerts.open([accountId]);
          const ended = open.filter((alert) => alert.id === id);
          if (ended.length === 0) return found;
          await changeAlerts(tx, deps, { begun: [], ended, lasting: [] }, rules, clock.now());
          await recordChange(tx, deps, caller, {
            accountId,
            action: 'session.confirmSignIn',
            target: userIdOf(caller),
            after: { country: detail.country, alertId: id },
          });
          return (await tx.alerts.find(id)) ?? found;
        });
      },
    ),
  };
}
