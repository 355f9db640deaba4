import { type Access, type Caller, refusal } from './caller.ts';

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
      const refused = refusal(access, caller);
      if (refused) throw refused;
      return await work(caller, input);
    },
  };
}
