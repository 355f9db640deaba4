import type { SubmitOutcome } from '../../domain/ports/provider.ts';
import { unavailable, untouched } from './smpp-link.ts';

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
