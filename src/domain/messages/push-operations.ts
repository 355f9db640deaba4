import type { Dependencies } from '../dependencies.ts';
import type { SendContext } from './accept-message.ts';
import { type SendRequest, sendOperation } from './send-operation.ts';
import { type PushInput, sendPush } from './send-push.ts';

/** Sending push messages (R24). */
export function pushOperations({ stores }: Dependencies, context: SendContext) {
  return {
    sendPush: sendOperation<SendRequest<PushInput>>(context, 'message.sendPush', 'push', (sender, input) =>
      sendPush(context, stores.devices, sender, input),
    ),
  };
}
