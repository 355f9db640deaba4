import { validationError } from '../errors.ts';
import { messageResource } from '../messages/message-resource.ts';
import type { AddressHashes } from '../ports/address-hashes.ts';
import type { PersonalMessage, PersonScope } from '../ports/erasure-store.ts';
import type { Stores } from '../ports/stores.ts';
import type { ApiRequest } from '../requests/api-request.ts';
import { storedForms } from '../suppressions/hashed-suppressions.ts';
import { isHashed, SUPPRESSED_CHANNELS } from '../suppressions/suppression.ts';
import { FIRST_UUID, isUuid } from '../uuid.ts';
import type { RecordedEvent } from '../webhooks/event.ts';
import type { DeliveryAttempt, WebhookDelivery } from '../webhooks/webhook.ts';
import { type IsTheirs, isOnlyTheirs, theirs, withoutAddresses } from './erase-content.ts';
import { contactNames, environmentsOf } from './find-person.ts';
import { addressesOfKind, type PersonalAddress } from './personal-address.ts';

/** Number of messages in one part, and number of emails that are read for one part. */
const MESSAGES = 50;
const EMAILS = 10_000;
/** A part ends after the message that exceeds this size in UTF-16 code units: mails have attachments. */
const PART_LENGTH = 4_000_000;
/** Number of devices in one part, and of messages from the person. */
const ROWS = 1_000;
/**
 * Where a part begins: after the id of a message, the number of an email, the id of a device, or the id of a message from
 * the person. The parts come in this order.
 */
const AFTER = /^([mdi]:[0-9a-f-]{36}|e:[0-9]{1,15})$/;
/** Stands for an address that is not the person's. */
const OTHER = 'other recipient';

/** A part of everything that is stored of a person. Only the first part has more than one kind of rows. */
export interface RecipientExport {
  readonly recipient: Readonly<Record<string, unknown>>;
  /** Where the next part begins. Null in the last one. */
  readonly nextAfter: string | null;
}

type Reads = Pick<
  Stores,
  | 'erasures'
  | 'persons'
  | 'contacts'
  | 'suppressions'
  | 'messages'
  | 'messageLists'
  | 'events'
  | 'deliveryLists'
  | 'deliveries'
  | 'requests'
>;
type Rows = Readonly<Record<string, unknown>>;

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
  if (after !== undefined && !isAfter(after)) {
    throw validationError([{ path: 'after', message: 'must be the nextAfter of the part before' }]);
  }
  const shown = {
    kind: given.kind,
    address: given.address,
    addresses: scope.targets.filter(({ kind }) => kind !== 'device'),
  };
  if (after?.startsWith('d:') || after?.startsWith('i:')) {
    const { rows, next } = await rowsAfter(stores, scope, after);
    return { recipient: { ...shown, ...rows, messages: [] }, nextAfter: next };
  }
  const { ids, next } = await idsAfter(stores, scope, after);
  const { messages, stoppedAfter } = await messagesOf(stores, scope, ids);
  const isMail = after?.startsWith('e:') ?? false;
  const rest = after === undefined ? await restOf(stores, hashes, scope) : {};
  const stopped = stoppedAfter && (isMail ? `e:${stoppedAfter.seq - 1}` : `m:${stoppedAfter.id}`);
  return {
    recipient: { ...shown, ...rest, messages: messages.map(({ resource }) => resource) },
    // The first part has the first devices and inbound messages. More of them come after the messages.
    nextAfter: stopped ?? next ?? (await rowsAfter(stores, scope, undefined)).next,
  };
}

function isAfter(text: string): boolean {
  return AFTER.test(text) && (text.startsWith('e:') || isUuid(text.slice(2)));
}

/** Returns the devices, or the messages from the person, after a place. Without a place, the first of both. */
async function rowsAfter(
  { persons }: Reads,
  scope: PersonScope,
  after: string | undefined,
): Promise<{ readonly rows: Rows; readonly next: string | null }> {
  const nextOf = (mark: string, rows: readonly { readonly id: string }[]) =>
    rows.length < ROWS ? null : `${mark}:${rows.at(-1)?.id}`;
  const inbound = await persons.inboundAfter(
    scope.accountId,
    phonesOf(scope),
    after?.startsWith('i:') ? after.slice(2) : FIRST_UUID,
    ROWS,
  );
  if (after?.startsWith('i:')) return { rows: { inboundMessages: inbound }, next: nextOf('i', inbound) };
  const devices = await persons.devicesAfter(scope, after?.slice(2) ?? FIRST_UUID, ROWS);
  const next = nextOf('d', devices) ?? nextOf('i', inbound);
  return after === undefined
    ? { rows: { devices, inboundMessages: inbound }, next }
    : { rows: { devices }, next };
}

/** Inbound messages and counts of numbers belong to production (R205). */
function phonesOf({ environment, targets }: PersonScope): readonly string[] {
  return environment === 'sandbox' ? [] : addressesOfKind(targets, 'phone');
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

/** A message of the person, and which of its recipients are the person. */
interface OwnMessage {
  readonly personal: PersonalMessage;
  /** True if it has no other recipients. */
  readonly isAlone: boolean;
  readonly positions: ReadonlySet<number>;
}

async function ownMessages(
  { erasures }: Reads,
  { accountId }: PersonScope,
  ids: readonly string[],
  isTheirs: IsTheirs,
): Promise<ReadonlyMap<string, OwnMessage>> {
  const own = (await erasures.readMessages(accountId, ids)).map((personal) => {
    const isAlone = isOnlyTheirs(personal, isTheirs);
    const theirOwn = personal.recipients.filter(({ address }) => isAlone || isTheirs(address));
    return { personal, isAlone, positions: new Set(theirOwn.map(({ position }) => position)) };
  });
  return new Map(own.map((one) => [one.personal.id, one]));
}

/**
 * Reads what belongs to the messages of a part, by message. It reads the events and deliveries of the person only, because
 * a message may have 1,000 recipients, each with events of its own.
 */
async function belongingsOf(stores: Reads, accountId: string, own: ReadonlyMap<string, OwnMessage>) {
  const ids = [...own.keys()];
  const keys = [...own].flatMap(([messageId, { positions }]) =>
    [...positions].map((position) => ({ messageId, position })),
  );
  const events = await stores.events.ofRecipients(accountId, ids, keys);
  const deliveries = await stores.deliveryLists.ofEvents(
    accountId,
    events.map(({ seq }) => seq),
  );
  const deliveryIds = deliveries.map(({ id }) => id);
  const requests = await stores.requests.ofMessages(accountId, ids);
  const recipients = await stores.messageLists.recipientsAt(accountId, keys);
  return {
    recipients: Map.groupBy(recipients, ({ messageId }) => messageId),
    events: Map.groupBy(events, ({ messageId }) => messageId),
    deliveries: Map.groupBy(deliveries, ({ messageId }) => messageId),
    attempts: await stores.deliveries.attempts(accountId, deliveryIds),
    requests: new Map(requests.map((request) => [request.messageId, request])),
    reports: Map.groupBy(await stores.persons.reports(ids), ({ messageId }) => messageId),
    reviews: new Map((await stores.persons.reviews(ids)).map((review) => [review.messageId, review])),
  };
}

/** Returns the messages with these ids. `stoppedAfter` is the last one, if the rest would be too long. */
async function messagesOf(stores: Reads, scope: PersonScope, ids: readonly string[]) {
  const { accountId, targets } = scope;
  const isTheirs = theirs(targets);
  const own = await ownMessages(stores, scope, ids, isTheirs);
  const of = await belongingsOf(stores, accountId, own);
  const messages: { readonly id: string; readonly seq: number; readonly resource: object }[] = [];
  let length = 0;
  for (const id of ids) {
    const message = await stores.messages.find({ accountId, environment: undefined }, id);
    const found = own.get(id);
    if (!message || !found) continue;
    const { personal, isAlone, positions } = found;
    const recipients = (of.recipients.get(id) ?? []).toSorted((one, other) => one.position - other.position);
    const resource = {
      ...messageResource(message),
      to: messageResource(message).to.filter(isTheirs),
      payload: withoutOthers(message.payload, isTheirs),
      body: message.channel === 'email' ? ((await stores.messages.bulk(id)) ?? null) : undefined,
      recipients: recipients.map(
        ({ address, status, sid, sentAt, deliveredAt, failedAt, readAt, error }) => ({
          to: address,
          status,
          sid,
          sentAt,
          deliveredAt,
          failedAt,
          readAt,
          error,
        }),
      ),
      timeline: (await stores.messages.timelineNotes(id))
        .filter(({ position }) => positions.has(position))
        .map(({ at, status, detail }) => ({ at, status, detail })),
      review: without(of.reviews.get(id), 'messageId') ?? null,
      lateReports: (of.reports.get(id) ?? [])
        .filter(({ position }) => positions.has(position))
        .map(({ receivedAt, report }) => ({ receivedAt, report })),
      events: (of.events.get(id) ?? []).map((event) => envelopeOf(event, personal, isTheirs)),
      webhookDeliveries: (of.deliveries.get(id) ?? []).map((delivery) =>
        shownDelivery(delivery, of.attempts.get(delivery.id) ?? [], isAlone),
      ),
      request: shownRequest(of.requests.get(id), isAlone),
    };
    messages.push({ id, seq: message.seq, resource });
    length += JSON.stringify(resource).length;
    if (length > PART_LENGTH && id !== ids.at(-1))
      return { messages, stoppedAfter: { id, seq: message.seq + 1 } };
  }
  return { messages, stoppedAfter: undefined };
}

/** An event of a push message is about all its users and devices. It names the person's only. */
function envelopeOf(event: RecordedEvent, message: PersonalMessage, isTheirs: IsTheirs): unknown {
  const envelope: Rows = JSON.parse(event.body);
  if (event.position !== null) return envelope;
  const named = ['userIds', 'deviceIds'].flatMap((name) => message.payload?.[name] ?? []);
  const others = theirs(
    [
      ...named.map((name) => ({ kind: 'user' as const, address: String(name) })),
      ...message.recipients.map(({ address }) => ({ kind: 'device' as const, address })),
    ].filter(({ address }) => !isTheirs(address)),
  );
  return { ...envelope, data: withoutAddresses(envelope.data, others, OTHER) };
}

/** What an endpoint answered may name all recipients of the message, so it is left out if there are others. */
function shownDelivery(delivery: WebhookDelivery, attempts: readonly DeliveryAttempt[], isAlone: boolean) {
  const { id, webhookId, eventSeq, event, status, createdAt, errorMessage, responseBody } = delivery;
  const shown = { id, webhookId, eventSeq, event, status, createdAt, errorMessage, attempts };
  return isAlone ? { ...shown, responseBody } : shown;
}

/** The bodies of a request are about all its recipients, so they are left out if there are others. */
function shownRequest(request: ApiRequest | undefined, isAlone: boolean) {
  if (!request) return null;
  const { id, at, method, path, status, requestId, idempotencyKey, requestBody, responseBody } = request;
  const shown = { id, at, method, path, status, requestId };
  return isAlone ? { ...shown, idempotencyKey, requestBody, responseBody } : shown;
}

function without<T extends object, K extends keyof T>(row: T | undefined, name: K): Omit<T, K> | undefined {
  if (!row) return undefined;
  const { [name]: _, ...rest } = row;
  return rest;
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

/** Returns everything that is not in messages, with the first devices and inbound messages. */
async function restOf(stores: Reads, hashes: AddressHashes, scope: PersonScope): Promise<Rows> {
  const { accountId, environment, targets } = scope;
  const contacts = new Map<string, object>();
  const suppressions: object[] = [];
  const addresses = addressesOfKind(targets, 'phone', 'email');
  for (const each of environmentsOf(environment)) {
    const owner = { accountId, environment: each };
    for (const contact of await stores.contacts.findNamed(owner, contactNames(targets))) {
      contacts.set(contact.id, without(contact, 'accountId') ?? {});
    }
    for (const address of addresses) {
      const forms = await storedForms(hashes, accountId, address);
      for (const channel of SUPPRESSED_CHANNELS) {
        const filter = { channel, addresses: forms };
        const rows = await stores.suppressions.slice(owner, filter, {
          limit: forms.length,
          after: undefined,
        });
        const shown = rows.map((row) => ({ ...without(row, 'accountId'), address, isHashed: isHashed(row) }));
        suppressions.push(...shown);
      }
    }
  }
  const hash = await hashes.known(accountId);
  const named = addressesOfKind(targets, 'phone', 'email', 'user');
  const erasures = await stores.persons.erasures(scope, hash ? named.map(hash) : []);
  return {
    contacts: [...contacts.values()],
    suppressions,
    numbers: await stores.persons.numbers(accountId, phonesOf(scope)),
    importFaults: await stores.persons.importFaults(scope),
    erasures: erasures.map((erasure) => without(erasure, 'accountId')),
    ...(await rowsAfter(stores, scope, undefined)).rows,
  };
}
