import type { Environment } from '../caller.ts';
import type { Dependencies } from '../dependencies.ts';
import { operation } from '../operation.ts';
import type { SendAnswer, SendContext } from './accept-message.ts';
import { environmentOf, SENDERS, senderOf } from './send-context.ts';
import { type PushInput, sendPush } from './send-push.ts';

/** Members choose where they send; a key sends in its own environment. */
export type SendPushRequest = Omit<PushInput, 'environment'> & {
  readonly environment?: Environment | undefined;
};

/** Sending push messages (decision 24). */
export function pushOperations({ stores }: Dependencies, context: SendContext) {
  return {
    sendPush: operation(
      'message.sendPush',
      { scopes: ['SEND_PUSH'], roles: SENDERS },
      async (caller, input: SendPushRequest): Promise<SendAnswer> => {
        const sender = senderOf(caller);
        const environment = environmentOf(sender, input);
        return sendPush(context, stores.devices, sender, { ...input, environment });
      },
    ),
  };
}
