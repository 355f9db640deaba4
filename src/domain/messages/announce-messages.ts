import type { Tx } from '../ports/stores.ts';
import type { Message } from './message.ts';

/** Tells who watches of the messages that something happened to; each once. */
export function announceMessages(
  tx: Tx,
  messages: ReadonlyMap<string, Message>,
  changed: readonly { readonly messageId: string }[],
): void {
  const ids = new Set(changed.map(({ messageId }) => messageId));
  tx.announceLive(
    'message',
    [...ids].flatMap((id) => messages.get(id) ?? []),
  );
}
