import { recordChange } from '../audit/record-change.ts';
import type { SystemCaller } from '../caller.ts';
import type { Dependencies } from '../dependencies.ts';
import { checkDueDomains, DOMAIN_CHECK_EVERY_MS, recordsIfAnswered } from '../domain-checks.ts';
import type { PersonMailJob } from '../ports/job-queue.ts';
import type { SingleSignOn } from '../ports/single-sign-on.ts';
import type { Tx } from '../ports/stores.ts';
import { domainRecord } from './single-sign-on.ts';

/** A mail about a lost domain must not be sent later than this after the check, in ms. */
const NOTICE_MS = 24 * 3_600_000;
const BY_CHECK: SystemCaller = { kind: 'system', name: 'single-sign-on' };

type Needs = Pick<Dependencies, 'stores' | 'uow' | 'clock' | 'ids' | 'txtRecords' | 'mailer'>;

/** Reads the DNS records again that proved the domains of single sign-on (R445). */
export class SingleSignOnDomains {
  readonly #deps: Needs;

  constructor(deps: Needs) {
    this.#deps = deps;
  }

  /**
   * Checks the domains that are due, each about once a day. After two checks without the record, nobody new signs in by
   * the domain, and the owners are told. A name server that does not answer changes nothing.
   */
  async check(): Promise<void> {
    const { stores, clock } = this.#deps;
    await checkDueDomains(
      clock,
      (now, again, count) => stores.singleSignOn.takeDueDomains(now, again, count),
      (settings) => this.#check(settings),
    );
  }

  async #check(settings: SingleSignOn): Promise<void> {
    const isThere = await this.#hasRecord(settings);
    if (isThere === undefined) return;
    const { uow, clock } = this.#deps;
    await uow.run(async (tx) => {
      const now = clock.now();
      // The owner may have changed the domain meanwhile. Then the stores change nothing and return false.
      if (isThere) {
        const next = new Date(now.getTime() + DOMAIN_CHECK_EVERY_MS);
        const isKept = await tx.singleSignOn.keepDomain(settings, next);
        if (isKept && settings.domainLostAt !== null) await this.#record(tx, settings, 'prove');
      } else if (settings.domainMissingSince === null) await tx.singleSignOn.missDomain(settings, now);
      else if (await tx.singleSignOn.loseDomain(settings, now)) {
        await this.#record(tx, settings, 'lose');
        await this.#mailOwners(tx, settings, now);
      }
    });
  }

  /** Returns whether the DNS has the record. Undefined if no name server answers. */
  async #hasRecord(settings: SingleSignOn): Promise<boolean | undefined> {
    const { name, value } = domainRecord(settings);
    const records = await recordsIfAnswered(this.#deps.txtRecords, name);
    return records?.some((record) => record.trim() === value);
  }

  #record(tx: Tx, { accountId, domain }: SingleSignOn, what: 'prove' | 'lose'): Promise<string> {
    return recordChange(tx, this.#deps, BY_CHECK, {
      accountId,
      action: `account.${what}SingleSignOnDomain`,
      target: accountId,
      after: { domain },
    });
  }

  async #mailOwners(tx: Tx, settings: SingleSignOn, now: Date): Promise<void> {
    if (!this.#deps.mailer.isConfigured) return;
    const members = await tx.users.members(settings.accountId);
    const owners = members.filter(({ role, acceptedAt }) => role === 'OWNER' && acceptedAt !== null);
    const facts = {
      kind: 'domain_lost',
      domain: settings.domain,
      record: domainRecord(settings),
      until: new Date(now.getTime() + NOTICE_MS).toISOString(),
    } as const;
    await tx.jobs.enqueue(
      owners.map(({ id }) => {
        const data: PersonMailJob = { ...facts, userId: id };
        return { queue: 'person-mail', routeKey: 'person-mail', data } as const;
      }),
    );
  }
}
