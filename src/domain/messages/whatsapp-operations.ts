import { ACCOUNT_ROLES, accountEnvironmentOf } from '../caller.ts';
import type { Dependencies } from '../dependencies.ts';
import { operation } from '../operation.ts';
import type { WhatsAppCallback } from '../ports/whatsapp.ts';
import type { SendContext } from './accept-message.ts';
import { parseMsisdn } from './msisdn.ts';
import { type SendRequest, sendOperation } from './send-operation.ts';
import { oneNumber, sendWhatsApp, type WhatsAppInput } from './send-whatsapp.ts';
import { type SessionWindow, sessionWindow } from './whatsapp-window.ts';

/** Sending WhatsApp messages, and hearing what the platform says (R25). */
export function whatsAppOperations(deps: Dependencies, context: SendContext) {
  const { stores, clock, ids } = deps;
  return {
    sendWhatsApp: sendOperation<SendRequest<WhatsAppInput>>(
      context,
      'message.sendWhatsApp',
      'whatsapp',
      (sender, input) =>
        sendWhatsApp(context, { inbound: stores.inbound, targets: deps.transport }, sender, input),
    ),

    /** Whether free text may be sent to a number now. */
    whatsAppWindow: operation(
      'message.whatsAppWindow',
      { scopes: ['SEND_WHATSAPP'], roles: ACCOUNT_ROLES },
      (caller, input: { to: string }): Promise<SessionWindow> =>
        sessionWindow(stores.inbound, accountEnvironmentOf(caller), oneNumber(input.to), clock.now()),
    ),

    /** Records what a callback of the platform told. Resolves once all of it is stored. */
    takeWhatsAppCallback: operation(
      'message.takeWhatsAppCallback',
      {},
      async (_caller, { provider, reports, inbound }: WhatsAppCallback): Promise<void> => {
        const receivedAt = clock.now();
        const messages = inbound.flatMap((message) => {
          const sender = parseMsisdn(message.sender);
          // A clock that runs ahead must not keep the window open for longer.
          const sentAt = message.sentAt < receivedAt ? message.sentAt : receivedAt;
          return sender
            ? [{ ...message, channel, provider, sender, sentAt, receivedAt, id: ids.uuid() }]
            : [];
        });
        // All messages are to the one number of the gateway, which has no owner: the last writer is all there is to ask.
        const owners = await stores.inbound.lastWriters(messages.map(({ sender }) => sender));
        await stores.inbound.add(
          messages.map((message) => ({ ...message, accountId: owners.get(message.sender) ?? null })),
        );
        await deps.takeReports(provider, reports);
      },
    ),
  };
}

const channel = 'whatsapp' as const;
