import type { SubmitOutcome } from '../../../domain/ports/provider.ts';
import { unavailable, untouched } from './smpp-link.ts';

/**
 * The 8-bit reference that tells a handset which parts belong together. A message some of whose parts may
 * have left keeps its reference for the next try, so that the handset joins old and new parts into one
 * message instead of showing two torn ones.
 */
const MAX_KEPT = 1_000;

export class LongMessageReferences {
  readonly #kept = new Map<string, number>();
  #last: number;

  constructor(random: () => number) {
    this.#last = Math.floor(random() * 256);
  }

  /** The reference (0 to 255) for the message known as `key`. */
  take(key: string): number {
    const kept = this.#kept.get(key);
    if (kept !== undefined) return kept;
    this.#last = (this.#last + 1) % 256;
    return this.#last;
  }

  /** Remembers the reference of a half-sent message; the oldest is forgotten beyond a thousand. */
  keep(key: string, reference: number): void {
    this.#kept.delete(key);
    this.#kept.set(key, reference);
    if (this.#kept.size > MAX_KEPT) this.#kept.delete(this.#kept.keys().next().value!);
  }

  forget(key: string): void {
    this.#kept.delete(key);
  }
}

/** What came of one part. `throttled`: the carrier takes it a little later. */
export type PartOutcome = SubmitOutcome & { readonly throttled?: true };

/** One outcome for all parts: any refusal or failure is the message's. */
export function joinParts(outcomes: readonly PartOutcome[], total: number): SubmitOutcome {
  const place = (index: number) => `part ${index + 1} of ${total}`;
  const others = outcomes.length > 1 ? '; other parts may have left' : '';
  const refused = outcomes.findIndex(({ kind }) => kind === 'rejected');
  const failed = refused >= 0 ? refused : outcomes.findIndex(({ kind }) => kind === 'unavailable');
  const outcome = outcomes[failed];
  if (outcome?.kind === 'rejected') {
    return { kind: 'rejected', code: outcome.code, reason: `${place(failed)}: ${outcome.reason}${others}` };
  }
  if (outcome?.kind === 'unavailable') {
    const refuse = outcomes.length === 1 && outcome.definitelyNotSent ? untouched : unavailable;
    const joined = refuse(`${place(failed)}: ${outcome.reason}${others}`, outcome.retryAfterMs);
    return outcome.onlyThis ? { ...joined, onlyThis: true } : joined;
  }
  const partSids = outcomes.flatMap((part) => (part.kind === 'accepted' ? [part.sid] : []));
  return { kind: 'accepted', sid: partSids[0]!, partSids };
}
