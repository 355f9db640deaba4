import { type Access, type Caller, refusal } from './caller.ts';
import { type DomainError, forbidden } from './errors.ts';

/** One thing that the gateway can do, the same for every edge. */
export interface Operation<Input, Output> {
  readonly name: string;
  readonly access: Access;
  run(caller: Caller, input: Input): Promise<Output>;
}

/** Makes an operation. `run` checks the access before `work`. */
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

/** Why an operation refuses `caller`, by access or by access token; undefined when it may run. */
export function refusalOf(
  { name, access }: Pick<Operation<never, unknown>, 'name' | 'access'>,
  caller: Caller,
): DomainError | undefined {
  const isNamed = !('permissions' in caller) || caller.permissions?.includes(name) !== false;
  if (!isNamed) return forbidden(`This access token may not run ${name}.`);
  return refusal(access, caller);
}
