import { type Access, type Caller, refusal } from './caller.ts';
import { type DomainError, forbidden } from './errors.ts';

/** One thing that the gateway can do. REST, GraphQL, the workers and the command line all call the same operations. */
export interface Operation<Input, Output> {
  readonly name: string;
  readonly access: Access;
  run(caller: Caller, input: Input): Promise<Output>;
}

/** Builds an operation. Its `run` checks the access before it calls `work`. */
export function operation<Input, Output>(
  name: string,
  access: Access,
  work: (caller: Caller, input: Input) => Promise<Output>,
): Operation<Input, Output> {
  return {
    name,
    access,
    async run(caller, input) {
      const refused = refusalOf({ name, access }, caller);
      if (refused) throw refused;
      return await work(caller, input);
    },
  };
}

/**
 * Returns why an operation refuses `caller`, because of its access or of the caller's access token. Undefined if it may
 * run.
 */
export function refusalOf(
  { name, access }: Pick<Operation<never, unknown>, 'name' | 'access'>,
  caller: Caller,
): DomainError | undefined {
  const isNamed = !('permissions' in caller) || caller.permissions?.includes(name) !== false;
  if (!isNamed) return forbidden(`This access token may not run ${name}.`);
  return refusal(access, caller);
}
