import { ACCOUNT_ROLES, refusal } from '../caller.ts';
import { type Operation, operation } from '../operation.ts';

type Nouns = Readonly<Record<string, Readonly<Record<string, Operation<never, unknown>>>>>;

/** The permissions of a person, from the access of the operations. */
export function permissionOperations(nouns: Nouns) {
  const others = Object.values(nouns).flatMap((noun) => Object.values(noun));
  /** Names of the operations that admit the caller, sorted. */
  const list: Operation<Record<string, never>, readonly string[]> = operation(
    'permission.list',
    { roles: ACCOUNT_ROLES, operator: true },
    async (caller) =>
      [...others, list]
        .filter(({ access }) => refusal(access, caller) === undefined)
        .map(({ name }) => name)
        .sort(),
  );
  return { list };
}
