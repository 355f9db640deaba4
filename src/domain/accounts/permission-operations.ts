import { ACCOUNT_ROLES } from '../caller.ts';
import { type Operation, operation, refusalOf } from '../operation.ts';

type Nouns = Readonly<Record<string, Readonly<Record<string, Operation<never, unknown>>>>>;

/** Returns every operation in `nouns`. */
export function operationsOf(nouns: Nouns): readonly Operation<never, unknown>[] {
  return Object.values(nouns).flatMap((noun) => Object.values(noun));
}

/** The operation that lists a person's permissions. They follow from the access that each operation declares. */
export function permissionOperations(nouns: Nouns) {
  const others = operationsOf(nouns);
  /**
   * Returns the names of the operations that the caller may run, sorted. Operations that need a step-up first are
   * included.
   */
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
