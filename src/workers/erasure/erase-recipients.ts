import { recordChange } from '../../domain/audit/record-change.ts';
import type { SystemCaller } from '../../domain/caller.ts';
import type { Contact } from '../../domain/contacts/contact.ts';
import type { AddressHash, AddressHashes } from '../../domain/ports/address-hashes.ts';
import type { PersonalMessage, PersonScope } from '../../domain/ports/erasure-store.ts';
import type { Stores, Tx, UnitOfWork } from '../../domain/ports/stores.ts';
import type { Clock, Ids } from '../../domain/ports/system.ts';
import {
  ERASED,
  erasedAnswer,
  erasedEnvelope,
  erasedPayload,
  type IsTheirs,
  isOnlyTheirs,
  theirs,
} from '../../domain/recipients/erase-content.ts';
import { addCounts, type ErasedCounts, type ErasureWork } from '../../domain/recipients/erasure.ts';
import { contactNames, environmentsOf } from '../../domain/recipients/find-person.ts';
import { addressesOfKind } from '../../domain/recipients/personal-address.ts';
import { FIRST_UUID } from '../../domain/uuid.ts';

/** Number of erasures that one round advances in turn. */
const AT_ONCE = 10;
/** Number of transactions in one round. It is bounded, so that a stopping process need not wait long. */
const BATCHES = 100;
/** Number of messages that one transaction erases. It locks their rows for about 10 ms. */
const BATCH = 200;
/** Number of rows that one transaction reads without locking them. */
const PAGE = 1_000;
const HOUR_MS = 3_600_000;
/** Time in ms until the next try, if something of the person is still in use. */
const RETRY_MS = 10_000;
const CALLER: SystemCaller = { kind: 'system', name: 'erasure' };

/** What a transaction did: what it erased, and whether the same erasure has more to do now. */
type Advance = Pick<ErasureWork, 'step' | 'mark'> & {
  readonly erased?: Partial<ErasedCounts>;
  readonly isWaiting?: boolean;
};

/**
 * Erases what is stored of people (R490, R491), one small transaction after another, each with its progress: after a
 * crash any process goes on where the last one was. Rows are locked like those of retention, so that no send, report or
 * delivery waits for them.
 *
 * A message is left for later while it is pending for anybody, an event of it is being delivered, a refund is deferred,
 * or the analytics do not contain it yet: they count recipients by the beginning of their numbers (R292).
 */
export class EraseRecipients {
  readonly #uow: UnitOfWork;
  readonly #stores: Pick<Stores, 'erasures' | 'analytics'>;
  readonly #system: { readonly clock: Clock; readonly ids: Ids };
  readonly #hashes: AddressHashes;

  constructor(
    uow: UnitOfWork,
    stores: Pick<Stores, 'erasures' | 'analytics'>,
    system: { readonly clock: Clock; readonly ids: Ids },
    hashes: AddressHashes,
  ) {
    this.#uow = uow;
    this.#stores = stores;
    this.#system = system;
    this.#hashes = hashes;
  }

  /** Runs one round: one transaction of each erasure in turn, until none can go on or `BATCHES` are done. */
  async run(): Promise<void> {
    let open = await this.#stores.erasures.due(this.#system.clock.now(), AT_ONCE);
    if (open.length === 0) return;
    await this.#stores.analytics.fold();
    let left = BATCHES;
    while (open.length > 0 && left > 0) {
      const busy: (typeof open)[number][] = [];
      for (const erasure of open.slice(0, left)) {
        left -= 1;
        if (await this.#advance(erasure.id, await this.#hashes.of(erasure.accountId))) busy.push(erasure);
      }
      open = busy;
    }
  }

  /** Runs one transaction of an erasure. Returns true if it has more to do now. */
  #advance(id: string, hash: AddressHash): Promise<boolean> {
    return this.#uow.run(async (tx) => {
      const work = await tx.erasures.claim(id);
      if (!work) return false;
      const scope = { ...work, until: work.createdAt };
      const advance = await this.#step(tx, work, scope, hash);
      if (!advance) return false;
      const { step, mark, erased = {}, isWaiting = false } = advance;
      await tx.erasures.save(
        { id, step, mark, erased: addCounts(work.erased, erased) },
        this.#system.clock.now(),
      );
      if (isWaiting) await tx.erasures.postpone(id, this.#later());
      return !isWaiting;
    });
  }

  /** Returns undefined if the erasure is done. */
  async #step(
    tx: Tx,
    work: ErasureWork,
    scope: PersonScope,
    hash: AddressHash,
  ): Promise<Advance | undefined> {
    const { id, mark, targets, accountId } = work;
    switch (work.step) {
      case 'collect': {
        const found = await tx.erasures.messagesAfter(scope, String(mark?.afterId ?? FIRST_UUID), PAGE);
        await tx.erasures.listMessages(id, found);
        if (found.length === PAGE) return { step: 'collect', mark: { afterId: found.at(-1) ?? '' } };
        const hasEmails = addressesOfKind(targets, 'email').length > 0;
        return { step: hasEmails ? 'collect_emails' : 'answers', mark: null };
      }
      case 'collect_emails': {
        const { ids, next } = await tx.erasures.emailsAfter(scope, Number(mark?.seq ?? 0), PAGE);
        await tx.erasures.listMessages(id, ids);
        return next === undefined
          ? { step: 'answers', mark: null }
          : { step: 'collect_emails', mark: { seq: next } };
      }
      case 'answers': {
        const { answers, next } = await tx.erasures.answersAfter(id, accountId, mark, PAGE);
        const isTheirs = theirs(targets);
        const erased = answers.map((answer) => ({ ...answer, body: erasedAnswer(answer.body, isTheirs) }));
        await tx.erasures.replaceAnswers(accountId, erased);
        const counts = { answers: answers.length };
        return next
          ? { step: 'answers', mark: next, erased: counts }
          : { step: 'erase', mark: null, erased: counts };
      }
      case 'erase': {
        const listed = await tx.erasures.listed(id, String(mark?.afterId ?? FIRST_UUID), BATCH);
        const erased = await eraseSettled(tx, id, listed, theirs(targets));
        const last = listed.at(-1);
        if (listed.length === BATCH && last) return { step: 'erase', mark: { afterId: last.id }, erased };
        return this.#finish(tx, work, scope, hash, erased);
      }
    }
  }

  /** Erases what is not in messages. Ends the erasure if nothing is left, else returns undone work. */
  async #finish(
    tx: Tx,
    work: ErasureWork,
    scope: PersonScope,
    hash: AddressHash,
    ofMessages: Partial<ErasedCounts>,
  ): Promise<Advance | undefined> {
    const { id, accountId, targets, environment } = work;
    const { clock } = this.#system;
    const phones = environment === 'sandbox' ? [] : addressesOfKind(targets, 'phone');
    const addresses = addressesOfKind(targets, 'phone', 'email');
    const hashes = new Map(addresses.map((address) => [address, hash(address)]));
    const hour = new Date(Math.floor(clock.now().getTime() / HOUR_MS) * HOUR_MS);
    await tx.erasures.forgetReplies(accountId, phones);
    const suppressions = await tx.erasures.hashSuppressions(scope, hashes);
    if (suppressions > 0) tx.announce('suppressions', accountId);
    const numbers = await tx.erasures.forgetNumbers(accountId, phones, hour);
    const limited = {
      inboundMessages: await tx.erasures.removeInbound(accountId, phones, BATCH),
      devices: await tx.erasures.removeDevices(scope, BATCH),
      requestBodies: await tx.erasures.eraseRequestBodies(scope, BATCH),
    };
    const rest = {
      ...limited,
      suppressions,
      numberCounts: numbers.forgotten,
      contacts: await this.#eraseContacts(tx, work),
      importFaults: await tx.erasures.eraseImportFaults(scope),
    };
    const erased = addCounts(addCounts(work.erased, ofMessages), rest);
    const own = { ...ofMessages, ...rest };
    if (Object.values(limited).includes(BATCH)) return { step: 'erase', mark: null, erased: own };
    const isInUse =
      numbers.left > 0 ||
      (await tx.erasures.countListed(id)) > 0 ||
      (await tx.erasures.countUnfinishedImports(scope)) > 0;
    if (isInUse) return { step: 'erase', mark: null, erased: own, isWaiting: true };
    await tx.erasures.save({ id, step: 'erase', mark: null, erased }, clock.now());
    const entry = await recordChange(tx, this.#system, CALLER, {
      accountId,
      action: 'recipient.erased',
      target: id,
      after: { environment, erased },
    });
    const [chained] = await tx.audit.chained(accountId, [entry]);
    if (!chained) throw new Error('an audit entry is not in the chain');
    await tx.erasures.finish(id, clock.now(), chained.seq);
    return undefined;
  }

  /** Removes the person's contacts. Others that share the email address only lose it. */
  async #eraseContacts(tx: Tx, { accountId, environment, targets }: ErasureWork): Promise<number> {
    const names = contactNames(targets);
    const isTheirs = theirs(targets);
    let count = 0;
    await tx.contacts.lockAll(accountId);
    for (const each of environmentsOf(environment)) {
      const owner = { accountId, environment: each };
      const isThePerson = ({ phone, externalId }: Contact) =>
        (phone !== null && isTheirs(phone)) ||
        (externalId !== null && names.externalIds.includes(externalId));
      // At most two contacts of an email address are returned at a time.
      for (let found = await tx.contacts.findNamed(owner, names); found.length > 0; ) {
        for (const contact of new Map(found.map((one) => [one.id, one])).values()) {
          count += 1;
          if (isThePerson(contact) || (contact.phone === null && contact.externalId === null)) {
            await tx.contacts.remove(owner, contact.id);
          } else {
            await tx.contacts.update({ ...contact, email: null, updatedAt: this.#system.clock.now() });
          }
        }
        found = await tx.contacts.findNamed(owner, names);
      }
    }
    return count;
  }

  #later(): Date {
    return new Date(this.#system.clock.now().getTime() + RETRY_MS);
  }
}

/** Erases those messages that nothing needs as they are, and takes them off the list. Returns what it erased. */
async function eraseSettled(
  tx: Tx,
  erasureId: string,
  messages: readonly PersonalMessage[],
  isTheirs: IsTheirs,
): Promise<Partial<ErasedCounts>> {
  const settled = messages.filter(({ isPending, isCounted }) => !isPending && isCounted);
  const ids = settled.map(({ id }) => id);
  const delivering = await tx.retention.delivering(ids);
  const refunding = await tx.refunds.withDeferred(ids);
  const erasable = settled.filter(({ id }) => !delivering.has(id) && !refunding.has(id));
  if (erasable.length === 0) return {};
  const erasures = new Map(
    erasable.map((message) => {
      const isWhole = isOnlyTheirs(message, isTheirs);
      const positions = message.recipients
        .filter(({ address }) => address !== ERASED && (isWhole || isTheirs(address)))
        .map(({ position }) => position);
      const payload = erasedPayload(message, isTheirs, isWhole);
      return [message.id, { id: message.id, isWhole, positions, payload, content: message.content }];
    }),
  );
  const events = (await tx.retention.events([...erasures.keys()])).flatMap((event) => {
    const erasure = erasures.get(event.messageId ?? '');
    if (!erasure) return [];
    const { isWhole, positions, content } = erasure;
    const isOwn = event.position !== null && positions.includes(event.position);
    if (event.position !== null && !isOwn && !isWhole) return [];
    const source = event.source && {
      from: event.source.from,
      to: isOwn ? ERASED : event.source.to,
      content: isWhole ? '' : content,
    };
    return [{ ...event, source, body: erasedEnvelope(event.body, isTheirs, { isOwn, isWhole }) }];
  });
  const reports = await tx.erasures.eraseMessages([...erasures.values()]);
  await tx.erasures.eraseEvents(events);
  await tx.erasures.unlist(erasureId, [...erasures.keys()]);
  return {
    messages: erasures.size,
    texts: [...erasures.values()].filter(({ isWhole }) => isWhole).length,
    recipients: [...erasures.values()].reduce((sum, { positions }) => sum + positions.length, 0),
    events: events.length,
    reports,
  };
}
