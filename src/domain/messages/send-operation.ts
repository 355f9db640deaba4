import type { AccountCaller, Environment } from '../caller.ts';
import { type Operation, operation } from '../operation.ts';
import type { SendAnswer } from './accept-message.ts';
import { SEND_SCOPES } from './cancel-message.ts';
import type { Channel } from './message.ts';
import { environmentOf, SENDERS, senderOf } from './send-context.ts';

/** What is asked of a channel's send: members choose where they send; a key sends in its own environment. */
export type SendRequest<Input> = Omit<Input, 'environment'> & {
  readonly environment?: Environment | undefined;
};

/** The operation that is a channel's send, for those who may send over it. */
export function sendOperation<Request extends SendRequest<unknown>>(
  name: string,
  channel: Channel,
  send: (
    sender: AccountCaller,
    input: Request & { readonly environment: Environment },
  ) => Promise<SendAnswer>,
): Operation<Request, SendAnswer> {
  const access = { scopes: [SEND_SCOPES[channel]], roles: SENDERS };
  return operation(name, access, (caller, input) => {
    const sender = senderOf(caller);
    return send(sender, { ...input, environment: environmentOf(sender, input) });
  });
}
