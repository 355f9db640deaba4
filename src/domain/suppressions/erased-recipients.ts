import type { Dependencies } from '../dependencies.ts';
import type { InboundChannel } from '../ports/whatsapp.ts';
import { type ReplyWord, replyWord } from './reply-words.ts';
import { HASHED_PREFIX } from './suppression.ts';

/**
 * Returns the accounts that a reply of an erased person is for (R496): no message says any more who wrote to them. A STOP
 * is for each account that erased this number or keeps a suppression of it. A START takes back what a STOP made, but only
 * if one account keeps such a suppression: nobody knows which of several the person means.
 */
export async function accountsThatErased(
  { stores, addressHashes }: Pick<Dependencies, 'stores' | 'addressHashes'>,
  channel: InboundChannel,
  sender: string,
  text: string | null,
): Promise<readonly string[]> {
  const word: ReplyWord | undefined = replyWord(text);
  if (word !== 'stop' && word !== 'start') return [];
  const hashes = new Map<string, string>();
  for (const [accountId, hash] of await addressHashes.ofErasing()) hashes.set(accountId, hash(sender));
  if (hashes.size === 0) return [];
  const stopped = await stores.suppressions.stoppedUnder(channel, HASHED_PREFIX, hashes);
  if (word === 'start') return stopped.length === 1 ? stopped : [];
  return [...new Set([...stopped, ...(await stores.erasures.whoErased(hashes))])];
}
