import type { ProviderOutcome } from '../../../domain/ports/provider.ts';
import { notSent, unavailable } from './smpp-link.ts';

/**
 * Number of partly sent messages whose reference is kept in memory. Above it, the oldest is dropped.
 *
 * The 8-bit concatenation reference tells a handset which parts belong to one message. A message of which some parts
 * may have been sent keeps its reference when it is retried. The handset then joins old and new parts into one message.
 */
const MAX_KEPT = 1_000;

export class LongMessageReferences {
  readonly #kept = new Map<string, number>();
  #last: number;

  constructor(random: () => number) {
    this.#last = Math.floor(random() * 256);
  }

  /** Returns the reference (0 to 255) for the message with this key. */
  take(key: string): number {
    const kept = this.#kept.get(key);
    if (kept !== undefined) return kept;
    this.#last = (this.#last + 1) % 256;
    return this.#last;
  }

  /** Remembers the reference of a partly sent message. */
  keep(key: string, reference: number): void {
    this.#kept.delete(key);
    this.#kept.set(key, reference);
    if (this.#kept.size > MAX_KEPT) this.#kept.delete(this.#kept.keys().next().value!);
  }

  forget(key: string): void {
    this.#kept.delete(key);
  }
}

/** The outcome of one part. `throttled` means that the carrier will accept it a little later. */
export type PartOutcome = ProviderOutcome & { readonly throttled?: true };

/**
 * Returns the outcome of the whole message: the first refusal of a part, or else the first failure, or else accepted.
 */
export function joinParts(outcomes: readonly PartOutcome[], total: number): ProviderOutcome {
  const place = (index: number) => `part ${index + 1} of ${total}`;
  const others = outcomes.length > 1 ? '; other parts may have left' : '';
  const refused = outcomes.findIndex(({ kind }) => kind === 'rejected');
  const failed = refused >= 0 ? refused : outcomes.findIndex(({ kind }) => kind === 'unavailable');
  const outcome = outcomes[failed];
  const asked = outcomes.some((part) => part.kind === 'accepted' || part.asked);
  if (outcome?.kind === 'rejected') {
    return {
      kind: 'rejected',
      asked,
      code: outcome.code,
      reason: `${place(failed)}: ${outcome.reason}${others}`,
    };
  }
  if (outcome?.kind === 'unavailable') {
    const refuse = outcomes.length === 1 && outcome.definitelyNotSent ? notSent : unavailable;
    const joined = refuse(`${place(failed)}: ${outcome.reason}${others}`, outcome.retryAfterMs);
    return { ...joined, asked, ...(outcome.onlyThis ? { onlyThis: true } : {}) };
  }
  const partSids = outcomes.flatMap((part) => (part.kind === 'accepted' ? [part.sid] : []));
  return { kind: 'accepted', sid: partSids[0]!, partSids };
}
