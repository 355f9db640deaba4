import { validationError } from '../errors.ts';
import { messageResource } from '../messages/message-resource.ts';
import type { AddressHashes } from '../ports/address-hashes.ts';
import type { PersonScope } from '../ports/erasure-store.ts';
import type { Stores } from '../ports/stores.ts';
import { storedForms } from '../suppressions/hashed-suppressions.ts';
import { SUPPRESSED_CHANNELS } from '../suppressions/suppression.ts';
import { FIRST_UUID, isUuid } from '../uuid.ts';
import { type IsTheirs, theirs } from './erase-content.ts';
import { contactNames, environmentsOf } from './find-person.ts';
import { addressesOfKind, type PersonalAddress } from './personal-address.ts';

/** Number of messages in one part, and number of emails that are read for one part. */
const MESSAGES = 50;
const EMAILS = 10_000;
/** A part ends after the message that exceeds this size in UTF-16 code units: mails have attachments. */
const PART_LENGTH = 4_000_000;
const MOST_INBOUND = 1_000;
const MOST_DEVICES = 1_000;
/** Where a part begins: after the id of a message, or after the number of an email. */
const AFTER = /^(m:[0-9a-f-]{36}|e:[0-9]{1,15})$/;

/** A part of everything that is stored of a person. Only the first part has more than messages. */
export interface RecipientExport {
  readonly recipient: Readonly<Record<string, unknown>>;
  /** Where the next part begins. Null in the last one. */
  readonly nextAfter: string | null;
}

type Reads = Pick<Stores, 'erasures' | 'contacts' | 'devices' | 'suppressions' | 'messages' | 'events'>;

/**
 * Returns a part of the person's data as JSON (R493). Other recipients of a message are left out: their addresses are
 * not the person's.
 */
export async function exportPart(
  stores: Reads,
  hashes: AddressHashes,
  scope: PersonScope,
  given: PersonalAddress,
  after: string | undefined,
): Promise<RecipientExport> {
  if (after !== undefined && (!AFTER.test(after) || (after.startsWith('m:') && !isUuid(after.slice(2))))) {
    throw validationError([{ path: 'after', message: 'must be the nextAfter of the part before' }]);
  }
  const { ids, next } = await idsAfter(stores, scope, after);
  const { messages, stoppedAfter } = await messagesOf(stores, scope, ids);
  const isMail = after?.startsWith('e:') ?? false;
  const rest = after === undefined ? await restOf(stores, hashes, scope) : {};
  return {
    recipient: {
      kind: given.kind,
      address: given.address,
      addresses: scope.targets.filter(({ kind }) => kind !== 'device'),
      ...rest,
      messages: messages.map(({ resource }) => resource),
    },
    nextAfter:
      stoppedAfter === undefined ? next : isMail ? `e:${stoppedAfter.seq - 1}` : `m:${stoppedAfter.id}`,
  };
}

/** Returns the ids of the messages of a part: first those that an index finds, then emails in the order of numbers. */
async function idsAfter({ erasures }: Reads, scope: PersonScope, after: string | undefined) {
  const hasEmails = addressesOfKind(scope.targets, 'email').length > 0;
  if (after?.startsWith('e:')) {
    const { ids, next } = await erasures.emailsAfter(scope, Number(after.slice(2)), EMAILS);
    return { ids, next: next === undefined ? null : `e:${next}` };
  }
  // Emails come with the walk by numbers, which also finds copies and other spellings.
  const targets = scope.targets.filter(({ kind }) => kind !== 'email');
  const ids = await erasures.messagesAfter({ ...scope, targets }, after?.slice(2) ?? FIRST_UUID, MESSAGES);
  const last = ids.length === MESSAGES ? ids.at(-1) : undefined;
  return { ids, next: last !== undefined ? `m:${last}` : hasEmails ? 'e:0' : null };
}

/** Returns the messages with these ids. `stoppedAfter` is the last one, if the rest would be too long. */
async function messagesOf(stores: Reads, { accountId, targets }: PersonScope, ids: readonly string[]) {
  const isTheirs = theirs(targets);
  const personal = new Map((await stores.erasures.readMessages(accountId, ids)).map((one) => [one.id, one]));
  const events = Map.groupBy(await stores.events.ofMessages(accountId, ids), ({ messageId }) => messageId);
  const messages: { readonly id: string; readonly seq: number; readonly resource: object }[] = [];
  let length = 0;
  for (const id of ids) {
    const message = await stores.messages.find({ accountId, environment: undefined }, id);
    const own = personal.get(id);
    if (!message || !own) continue;
    const isPush = message.channel === 'push';
    const positions = new Set(
      own.recipients.filter(({ address }) => isPush || isTheirs(address)).map(({ position }) => position),
    );
    const recipients = await stores.messages.recipients([id]);
    const resource = {
      ...messageResource(message),
      to: messageResource(message).to.filter(isTheirs),
      payload: withoutOthers(message.payload, isTheirs),
      body: message.channel === 'email' ? ((await stores.messages.bulk(id)) ?? null) : undefined,
      recipients: recipients
        .filter(({ position, address }) => positions.has(position) && (isPush ? isTheirs(address) : true))
        .map(({ address, status, sid, sentAt, deliveredAt, failedAt, readAt, error }) => ({
          to: address,
          status,
          sid,
          sentAt,
          deliveredAt,
          failedAt,
          readAt,
          error,
        })),
      timeline: (await stores.messages.timelineNotes(id))
        .filter(({ position }) => positions.has(position))
        .map(({ at, status, detail }) => ({ at, status, detail })),
      // The event of a push message is about all its devices, and names the others.
      events: (events.get(id) ?? [])
        .filter(({ position }) => position !== null && positions.has(position))
        .map(({ body }) => JSON.parse(body)),
    };
    messages.push({ id, seq: message.seq, resource });
    length += JSON.stringify(resource).length;
    if (length > PART_LENGTH && id !== ids.at(-1))
      return { messages, stoppedAfter: { id, seq: message.seq + 1 } };
  }
  return { messages, stoppedAfter: undefined };
}

function withoutOthers(payload: Readonly<Record<string, unknown>> | null, isTheirs: IsTheirs) {
  const lists = ['cc', 'bcc', 'userIds', 'deviceIds'];
  if (!payload) return payload;
  return Object.fromEntries(
    Object.entries(payload).map(([name, value]) => [
      name,
      lists.includes(name) && Array.isArray(value) ? value.map(String).filter(isTheirs) : value,
    ]),
  );
}

async function restOf(
  stores: Reads,
  hashes: AddressHashes,
  { accountId, environment, targets }: PersonScope,
) {
  const environments = environmentsOf(environment).map((each) => ({ accountId, environment: each }));
  const phones = environment === 'sandbox' ? [] : addressesOfKind(targets, 'phone');
  const contacts = new Map<string, object>();
  const devices: object[] = [];
  const suppressions: object[] = [];
  for (const owner of environments) {
    for (const contact of await stores.contacts.findNamed(owner, contactNames(targets))) {
      const { accountId: _, ...shown } = contact;
      contacts.set(contact.id, shown);
    }
    const users = addressesOfKind(targets, 'user');
    if (users.length > 0) {
      for (const device of await stores.devices.targets(owner, users, [], MOST_DEVICES)) {
        const { accountId: _, keys, ...shown } = device;
        devices.push(shown);
      }
    }
    const addresses: string[] = [];
    for (const address of addressesOfKind(targets, 'phone', 'email')) {
      addresses.push(...(await storedForms(hashes, accountId, address)));
    }
    for (const channel of SUPPRESSED_CHANNELS) {
      const rows = await stores.suppressions.slice(
        owner,
        { channel, addresses },
        { limit: 10, after: undefined },
      );
      suppressions.push(...rows.map(({ accountId: _, ...shown }) => shown));
    }
  }
  return {
    contacts: [...contacts.values()],
    devices,
    suppressions,
    inboundMessages: await stores.erasures.inboundOf(accountId, phones, MOST_INBOUND),
  };
}
