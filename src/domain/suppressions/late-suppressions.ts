import type { Dependencies } from '../dependencies.ts';
import type { OutgoingMessage, OutgoingRecipient } from '../messages/message.ts';
import type { Cache } from '../ports/changes.ts';
import { findSuppressed } from './hashed-suppressions.ts';
import {
  allowedBy,
  copiesOf,
  isSuppressedChannel,
  type SuppressedAddress,
  withoutCopies,
} from './suppression.ts';

/**
 * A message that is younger than this, in ms, is not checked again: the send has just done it. So ordinary sends run no
 * further statement.
 */
const FRESH_MS = 1_000;

interface Part {
  readonly message: OutgoingMessage;
  readonly recipient: OutgoingRecipient;
}

/** Returns the message as it may leave to the recipient. Undefined if the recipient is suppressed. */
type LateCheck = (part: Part) => OutgoingMessage | undefined;

/**
 * Checks the suppressions of messages once more before they leave (R530). A message may wait for hours or weeks after
 * it was accepted. People who asked to be left alone meanwhile must not get it.
 */
export class LateSuppressions {
  readonly #deps: Pick<Dependencies, 'stores' | 'addressHashes'>;
  readonly #suppressing: Cache<'none' | 'plain' | 'hashed'>;

  constructor(deps: Pick<Dependencies, 'stores' | 'addressHashes' | 'createCache'>) {
    this.#deps = deps;
    this.#suppressing = deps.createCache('suppressions', (id) => deps.stores.suppressions.any(id));
  }

  /** Reads the suppressions of the recipients of a job: one statement for each account that has suppressions. */
  async check(parts: readonly Part[], now: Date): Promise<LateCheck> {
    const old = parts.filter(
      ({ message }) => now.getTime() - message.createdAt.getTime() >= FRESH_MS && !isAnswer(message),
    );
    if (old.length === 0) return ({ message }) => message;
    const suppressed = new Map<string, readonly SuppressedAddress[]>();
    for (const [owner, own] of Map.groupBy(old, ({ message }) => ownerOf(message))) {
      suppressed.set(owner, await this.#among(own));
    }
    return (part) => {
      const { message, recipient } = part;
      const among = suppressed.get(ownerOf(message));
      if (!among || among.length === 0 || isAnswer(message)) return message;
      const stays = allowedBy(among, message.purpose);
      if (!stays(recipient.address)) return undefined;
      return { ...message, payload: message.payload && withoutCopies(message.payload, stays) };
    };
  }

  async #among(own: readonly Part[]): Promise<readonly SuppressedAddress[]> {
    const [first] = own;
    if (!first) return [];
    const { accountId, channel } = first.message;
    if (!isSuppressedChannel(channel)) return [];
    const kind = await this.#suppressing.get(accountId);
    if (kind === 'none') return [];
    const addresses = own.flatMap(({ message, recipient }) => [
      recipient.address,
      // Only the mail of the first recipient has copies.
      ...(recipient.position === 0 ? copiesOf(message.payload) : []),
    ]);
    return findSuppressed(
      this.#deps.stores.suppressions,
      this.#deps.addressHashes,
      kind,
      { accountId, environment: 'production' },
      channel,
      [...new Set(addresses.map((address) => address.toLowerCase()))],
    );
  }
}

function ownerOf({ accountId, channel }: OutgoingMessage): string {
  return `${accountId} ${channel}`;
}

/** True for the confirmation of a reply, which goes to suppressed numbers, too (R381). */
function isAnswer({ apiKeyId, userId }: OutgoingMessage): boolean {
  return apiKeyId === null && userId === null;
}
