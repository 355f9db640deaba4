import { type Access, type Caller, refusal } from './caller.ts';

/** One thing the gateway can do, the same for every edge. `run` refuses callers that `access` does not name. */
export interface Operation<Input, Output> {
  readonly name: string;
  readonly access: Access;
  run(caller: Caller, input: Input): Promise<Output>;
}

/** Makes an operation: the access check stands in front of `work` and cannot be forgotten. */
export function operation<Input, Output>(
  name: string,
  access: Access,
  work: (caller: Caller, input: Input) => Promise<Output>,
): Operation<Input, Output> {
  return {
    name,
    access,
    async run(caller, input) {
      const refused = refusal(access, caller);
      if (refused) throw refused;
      return await work(caller, input);
    },
  };
}
