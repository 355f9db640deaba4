import { refuseStaleRole } from '../accounts/refuse-stale-role.ts';
import { selectPerson } from '../accounts/select-person.ts';
import type { User } from '../accounts/user.ts';
import { recordChange } from '../audit/record-change.ts';
import { ACCOUNT_ROLES, type Caller } from '../caller.ts';
import type { Dependencies } from '../dependencies.ts';
import { forbidden, notFound, unauthorized, validationError } from '../errors.ts';
import { operation } from '../operation.ts';
import type { PasskeyJson } from '../ports/passkeys.ts';
import { issueRecoveryCodes, type RecoveryCodes } from './recovery-codes.ts';
import { endSessions, removeAllFactors } from './remove-factors.ts';
import { FACTORS_MAX, mustHaveFactor, type SecondFactor } from './second-factor.ts';
import { startNewPasskey, takeNewPasskey } from './take-passkey.ts';

export interface NewTotp {
  /** The secret in base32, for people who cannot scan the QR code. */
  readonly secret: string;
  /** Content of the QR code. */
  readonly uri: string;
}
interface FinishPasskeyInput {
  /** The answer that the browser produced from the options of `startPasskey`. */
  readonly answer: PasskeyJson;
  readonly name?: string | undefined;
  readonly sessionHash: Buffer;
}
const PEOPLE = { roles: ACCOUNT_ROLES, operator: 'reading' } as const;
/** Access for adding a factor. Sessions that are restricted until a factor is added may do it, too. */
const ADDING = { ...PEOPLE, stepUp: true, whileRestricted: ['add_second_factor'] } as const;

/** Operations on the caller's second factors (R250), and on second factors that other people have lost (R251). */
export function secondFactorOperations(deps: Dependencies) {
  const { stores, uow, clock, ids, secrets, totp, settings } = deps;

  async function personOf(caller: Caller): Promise<User> {
    const found = await stores.users.find(userIdOf(caller));
    if (!found) throw unauthorized('Sign in again.');
    return found.user;
  }

  return {
    /** Lists the caller's confirmed factors, oldest first. */
    list: operation(
      'secondFactor.list',
      { ...PEOPLE, whileRestricted: ['add_second_factor'] },
      async (caller, _input: Record<string, never>): Promise<readonly SecondFactor[]> => {
        const factors = await stores.secondFactors.list(userIdOf(caller));
        return factors.filter(({ confirmedAt }) => confirmedAt !== null);
      },
    ),

    /** Returns the number of the caller's unused recovery codes. */
    countRecoveryCodes: operation(
      'secondFactor.countRecoveryCodes',
      PEOPLE,
      (caller, _input: Record<string, never>) => stores.secondFactors.countRecoveryCodes(userIdOf(caller)),
    ),

    /** Starts to add a TOTP app. It replaces an app that was started but not confirmed. `confirmTotp` completes it. */
    startTotp: operation(
      'secondFactor.startTotp',
      ADDING,
      async (
        caller,
        { name = 'Authenticator app' }: { readonly name?: string | undefined },
      ): Promise<NewTotp> => {
        const { id: userId, email } = await personOf(caller);
        checkName(name);
        const secret = totp.newSecret();
        await uow.run(async (tx) => {
          const factors = await tx.secondFactors.lock(userId);
          const begun = factors.filter(({ factor }) => factor.confirmedAt === null);
          if (factors.length - begun.length >= FACTORS_MAX) {
            const message = `You have ${FACTORS_MAX} second factors already; remove one first`;
            throw validationError([{ path: '', message }]);
          }
          await tx.secondFactors.remove(begun.map(({ factor }) => factor.id));
          const times = { createdAt: clock.now(), confirmedAt: null, lastUsedAt: null };
          const factor: SecondFactor = { id: ids.uuid(), userId, kind: 'totp', name, ...times };
          await tx.secondFactors.insert(factor, secrets.seal(secret));
        });
        return { secret, uri: totp.uri(secret, email, settings.productName) };
      },
    ),

    /**
     * Adds the started TOTP app if `code` is right. Returns ten recovery codes, which replace the old codes. Ends the
     * person's other sessions. Throws `validation_error` for a wrong code.
     */
    confirmTotp: operation(
      'secondFactor.confirmTotp',
      ADDING,
      async (
        caller,
        { code, sessionHash }: { readonly code: string; readonly sessionHash: Buffer },
      ): Promise<RecoveryCodes> => {
        const { id: userId, accountId } = await personOf(caller);
        const digits = code.slice(0, 100).replaceAll(/\s/g, '');
        return uow.run(async (tx) => {
          const factors = await tx.secondFactors.lock(userId);
          const begun = factors.find(({ factor }) => factor.confirmedAt === null);
          if (!begun?.secretSealed)
            throw validationError([{ path: 'code', message: 'call startTotp first' }]);
          const now = clock.now();
          const secret = secrets.open(begun.secretSealed);
          const step = /^\d{6}$/.test(digits) ? totp.stepOf(secret, digits, now, begun.lastStep) : undefined;
          if (step === undefined) {
            const message = 'is not the code that the app shows now; check the clock of the phone';
            throw validationError([{ path: 'code', message }]);
          }
          await tx.secondFactors.confirm(begun.factor.id, now);
          await tx.secondFactors.recordUse(begun.factor.id, step, now);
          await endSessions(tx, userId, sessionHash);
          await recordChange(tx, deps, caller, {
            accountId,
            action: 'secondFactor.add',
            target: userId,
            after: { kind: begun.factor.kind, name: begun.factor.name },
          });
          return issueRecoveryCodes(tx, ids, userId);
        });
      },
    ),

    /**
     * Starts to add a passkey. Returns the options that the browser passes to its authenticator. `finishPasskey`
     * completes it.
     */
    startPasskey: operation(
      'secondFactor.startPasskey',
      ADDING,
      async (caller, _input: Record<string, never>): Promise<PasskeyJson> => {
        const { id: userId, email } = await personOf(caller);
        return startNewPasskey(deps, { id: userId, email });
      },
    ),

    /**
     * Adds a passkey and ends the person's other sessions. If it is the person's first factor, returns ten recovery
     * codes, otherwise none. Throws `validation_error` if the answer is not valid.
     */
    finishPasskey: operation(
      'secondFactor.finishPasskey',
      ADDING,
      async (
        caller,
        { answer, name = 'Passkey', sessionHash }: FinishPasskeyInput,
      ): Promise<RecoveryCodes> => {
        checkName(name);
        const { id: userId, accountId } = await personOf(caller);
        const credential = await takeNewPasskey(deps, answer, userId);
        return uow.run(async (tx) => {
          const factors = await tx.secondFactors.lock(userId);
          const own = factors.filter(({ factor }) => factor.confirmedAt !== null);
          if (own.length >= FACTORS_MAX) {
            const message = `You have ${FACTORS_MAX} second factors already; remove one first`;
            throw validationError([{ path: '', message }]);
          }
          const now = clock.now();
          const times = { createdAt: now, confirmedAt: now, lastUsedAt: null };
          const factor: SecondFactor = { id: ids.uuid(), userId, kind: 'passkey', name, ...times };
          if (!(await tx.secondFactors.insertPasskey(factor, credential)))
            throw validationError([{ path: 'passkey', message: 'is added already' }]);
          await endSessions(tx, userId, sessionHash);
          await recordChange(tx, deps, caller, {
            accountId,
            action: 'secondFactor.add',
            target: userId,
            after: { kind: factor.kind, name },
          });
          return own.length === 0 ? issueRecoveryCodes(tx, ids, userId) : { recoveryCodes: [] };
        });
      },
    ),

    /** Returns ten new recovery codes. The old ones stop working. */
    renewRecoveryCodes: operation(
      'secondFactor.renewRecoveryCodes',
      { ...PEOPLE, stepUp: true },
      async (caller, _input: Record<string, never>): Promise<RecoveryCodes> => {
        const { id: userId, accountId } = await personOf(caller);
        return uow.run(async (tx) => {
          const factors = await tx.secondFactors.lock(userId);
          if (!factors.some(({ factor }) => factor.confirmedAt !== null))
            throw validationError([{ path: '', message: 'Add a second factor first' }]);
          await recordChange(tx, deps, caller, {
            accountId,
            action: 'secondFactor.renewRecoveryCodes',
            target: userId,
          });
          return issueRecoveryCodes(tx, ids, userId);
        });
      },
    ),

    /**
     * Removes a factor of the caller. Throws `validation_error` if a second factor is required and this is the last
     * factor.
     */
    remove: operation(
      'secondFactor.remove',
      { ...PEOPLE, stepUp: true },
      async (
        caller,
        { id, sessionHash }: { readonly id: string; readonly sessionHash: Buffer },
      ): Promise<void> => {
        const person = await personOf(caller);
        const { id: userId, accountId } = person;
        const account = accountId === null ? undefined : await stores.accounts.find(accountId);
        await uow.run(async (tx) => {
          const factors = (await tx.secondFactors.lock(userId)).filter(
            ({ factor }) => factor.confirmedAt !== null,
          );
          const found = factors.find(({ factor }) => factor.id === id.toLowerCase());
          if (!found) throw notFound('Second factor');
          const isRequired = mustHaveFactor(
            person,
            settings.secondFactorPolicy,
            account?.requireSecondFactor ?? false,
          );
          if (factors.length === 1 && isRequired) {
            const message = 'is your only second factor, and one is required here; add another first';
            throw validationError([{ path: 'id', message }]);
          }
          await tx.secondFactors.remove([found.factor.id]);
          if (factors.length === 1) await tx.secondFactors.replaceRecoveryCodes(userId, []);
          await endSessions(tx, userId, sessionHash);
          await recordChange(tx, deps, caller, {
            accountId,
            action: 'secondFactor.remove',
            target: userId,
            before: { kind: found.factor.kind, name: found.factor.name },
          });
        });
      },
    ),

    /**
     * Removes all second factors of a person and ends the person's sessions. An owner may do this for other members of
     * the account, an operator for any member. The factors of an operator are removed by two other operators together
     * (R400), or with the command line.
     */
    reset: operation(
      'secondFactor.reset',
      { roles: ['OWNER'], operator: true, stepUp: true },
      async (caller, { userId }: { readonly userId: string }): Promise<User> => {
        const found = await stores.users.find(userId);
        const isOwn = caller.kind === 'member' && found?.user.accountId !== caller.accountId;
        if (!found || isOwn) throw notFound('Member');
        return resetFactors(caller, found.user);
      },
    ),

    /** Does the same for the person with this email, for the command line (R572). */
    resetByEmail: operation(
      'secondFactor.resetByEmail',
      {},
      async (
        caller,
        { email, accountId }: { readonly email: string; readonly accountId?: string | undefined },
      ): Promise<User> => resetFactors(caller, selectPerson(await stores.users.withEmail(email), accountId)),
    ),
  };

  async function resetFactors(caller: Caller, user: User): Promise<User> {
    if ('userId' in caller && caller.userId === user.id)
      throw forbidden('Remove your own second factor with removeFactor, or use a recovery code.');
    if (caller.kind === 'operator' && user.accountId === null) {
      throw forbidden(
        'Two operators reset the factors of another one: call requestOperatorReset. Or use the command line: npm run cli -- user reset-factors.',
      );
    }
    await uow.run(async (tx) => {
      await refuseStaleRole(tx, caller);
      await removeAllFactors(tx, deps, caller, user);
    });
    return user;
  }
}

const NAME_MAX_LENGTH = 50;

function checkName(name: string): void {
  if (name.trim() !== '' && name.length <= NAME_MAX_LENGTH) return;
  throw validationError([{ path: 'name', message: `must have 1 to ${NAME_MAX_LENGTH} characters` }]);
}

/** Returns the id of the person who acts. Throws `forbidden` for API keys and the system. */
export function userIdOf(caller: Caller): string {
  if (caller.kind === 'member' || caller.kind === 'operator') return caller.userId;
  throw forbidden('Only a person who is signed in can do this.');
}
