import type { AccountCaller, Environment } from '../caller.ts';
import { environmentOf } from '../caller.ts';
import { type Operation, operation } from '../operation.ts';
import type { SendAnswer, SendContext } from './accept-message.ts';
import { SEND_SCOPES } from './cancel-message.ts';
import type { Channel } from './message.ts';
import { SENDERS, senderOf } from './send-context.ts';

/** What is asked of a channel's send: members choose where they send; a key sends in its own environment. */
export type SendRequest<Input> = Omit<Input, 'environment'> & {
  readonly environment?: Environment | undefined;
};

/** The operation that is a channel's send, for those who may send over it. What people send counts on their budget. */
export function sendOperation<Request extends SendRequest<unknown>>(
  context: Pick<SendContext, 'budgets'>,
  name: string,
  channel: Channel,
  send: (
    sender: AccountCaller,
    input: Request & { readonly environment: Environment },
  ) => Promise<SendAnswer>,
): Operation<Request, SendAnswer> {
  const access = { scopes: [SEND_SCOPES[channel]], roles: SENDERS };
  return operation(name, access, async (caller, input) => {
    const sender = senderOf(caller);
    if (sender.kind === 'member') await context.budgets.countSend(sender);
    return send(sender, { ...input, environment: environmentOf(sender, input.environment) });
  });
}
