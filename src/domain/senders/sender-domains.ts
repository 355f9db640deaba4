import { recordChange } from '../audit/record-change.ts';
import type { SystemCaller } from '../caller.ts';
import type { Dependencies } from '../dependencies.ts';
import { checkDueDomains, DOMAIN_CHECK_EVERY_MS, recordsIfAnswered } from '../domain-checks.ts';
import type { Tx } from '../ports/stores.ts';
import { announceSenders } from './check-sender.ts';
import { recordsOf, type Sender } from './sender.ts';
import { recordReview } from './sender-operations.ts';

/** A domain is lost when its record is missing for this long, in ms. */
const LOST_AFTER_MS = 72 * 3_600_000;
const BY_CHECK: SystemCaller = { kind: 'system', name: 'senders' };

type Needs = Pick<Dependencies, 'stores' | 'uow' | 'clock' | 'ids' | 'txtRecords' | 'settings'>;

/** Reads the DNS records again that proved the domains of senders (R534). */
export class SenderDomains {
  readonly #deps: Needs;

  constructor(deps: Needs) {
    this.#deps = deps;
  }

  /** Checks the domains that are due. A name server that does not answer changes nothing. */
  async check(): Promise<void> {
    const { stores, clock } = this.#deps;
    await checkDueDomains(
      clock,
      (now, again, count) => {
        const unchecked = new Date(now.getTime() - DOMAIN_CHECK_EVERY_MS);
        return stores.senders.takeDueDomains(now, unchecked, again, count);
      },
      (sender) => this.#check(sender),
    );
  }

  async #check(checked: Sender): Promise<void> {
    const isThere = await this.#hasRecord(checked);
    if (isThere === undefined) return;
    const { uow, clock } = this.#deps;
    await uow.run(async (tx) => {
      await tx.senders.lockAll();
      const sender = await tx.senders.findOfAny(checked.id);
      // Somebody may have removed or rejected it meanwhile.
      if (sender?.status !== 'approved') return;
      const now = clock.now();
      if (isThere) return tx.senders.keepDomain(sender.id, new Date(now.getTime() + DOMAIN_CHECK_EVERY_MS));
      const since = await tx.senders.missDomain(sender.id, now);
      if (now.getTime() - since.getTime() >= LOST_AFTER_MS) await this.#lose(tx, sender, now);
    });
  }

  async #lose(tx: Tx, sender: Sender, now: Date): Promise<void> {
    const { id, accountId, name } = sender;
    await tx.senders.keepDomain(id, null);
    await tx.senders.change(id, { status: 'pending', verifiedAt: null });
    announceSenders(tx, accountId);
    await recordChange(tx, this.#deps, BY_CHECK, {
      accountId,
      action: 'sender.loseDomain',
      target: id,
      after: { domain: name },
    });
    await recordReview(tx, this.#deps.ids, { ...sender, status: 'pending', verifiedAt: null }, now);
  }

  /** Returns whether the DNS has the record. Undefined if no name server answers. */
  async #hasRecord(sender: Sender): Promise<boolean | undefined> {
    const { settings, txtRecords } = this.#deps;
    const [proof] = recordsOf(sender, settings.mailRecords);
    if (proof?.kind !== 'verification') return undefined;
    const verification = await recordsIfAnswered(txtRecords, proof.name);
    if (verification === undefined) return undefined;
    return recordsOf({ ...sender, found: { verification } }, settings.mailRecords)[0]?.isRight === true;
  }
}
