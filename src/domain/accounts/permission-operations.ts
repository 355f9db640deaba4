import { ACCOUNT_ROLES } from '../caller.ts';
import { type Operation, operation, refusalOf } from '../operation.ts';

type Nouns = Readonly<Record<string, Readonly<Record<string, Operation<never, unknown>>>>>;

/** Every operation of the nouns. */
export function operationsOf(nouns: Nouns): readonly Operation<never, unknown>[] {
  return Object.values(nouns).flatMap((noun) => Object.values(noun));
}

/** The permissions of a person, from the access of the operations. */
export function permissionOperations(nouns: Nouns) {
  const others = operationsOf(nouns);
  /** Names of the operations that admit the caller, sorted. */
  const list: Operation<Record<string, never>, readonly string[]> = operation(
    'permission.list',
    { roles: ACCOUNT_ROLES, operator: 'reading', whileRestricted: ['change_password', 'add_second_factor'] },
    async (caller) =>
      [...others, list]
        .filter(
          (operation) => (refusalOf(operation, caller)?.code ?? 'step_up_required') === 'step_up_required',
        )
        .map(({ name }) => name)
        .sort(),
  );
  return { list };
}
