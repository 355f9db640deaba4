/**
 * Judges a run from the records of the clients, the carrier and the webhook receivers. It has its own copy of the rules
 * on money and states, and imports nothing from the gateway, so that a fault there cannot hide itself.
 */
import type pg from 'pg';
import type { HandedOver } from './carrier.ts';
import type { KnownEndpoint } from './changers.ts';
import { type FedEvent, mayFollow } from './readers.ts';
import type { Hook } from './receiver.ts';
import type { Told, Wanted } from './senders.ts';

export interface Seen {
  readonly wanted: readonly Wanted[];
  readonly fed: readonly FedEvent[];
  /** The last status that a client received for each recipient, by message id and number. */
  readonly statuses: ReadonlyMap<string, string>;
  readonly endpoints: readonly KnownEndpoint[];
  readonly handedOver: readonly HandedOver[];
  readonly hooks: readonly Hook[];
  /** How many extra copies each number may get, because it is unknown whether the carrier took an earlier one. */
  readonly atRisk: ReadonlyMap<string, number>;
  /** Number of further messages that may have been sent twice. It is unknown which ones. */
  readonly mayBeTwice: number;
  /** The account's balance before the first message. */
  readonly openingBalance: number;
  /**
   * The balance at the end, and each list of messages by status, as the API returned them. Undefined without an answer.
   */
  readonly balance: number | undefined;
  readonly walks: ReadonlyMap<
    string | undefined,
    { readonly ids: readonly string[]; readonly total: number }
  >;
}

interface Stored {
  readonly id: string;
  readonly content: string;
  readonly to: string;
  readonly status: string;
  readonly code: string | null;
  readonly sent: boolean;
  readonly cost: number;
  readonly refunds: number;
}

const STORED = `SELECT m.id, m.content, r.address AS "to", r.status, r.error_code AS code, r.sent_at IS NOT NULL AS sent,
    r.cost_minor::int AS cost,
    (SELECT count(*)::int FROM ledger_entries l
      WHERE l.message_id = m.id AND l.position = r.position AND l.kind = 'refund') AS refunds
  FROM messages m JOIN recipients r ON r.message_id = m.id ORDER BY m.seq, r.position`;
const EVENT = `concat_ws(' ', e.type, e.message_id, r.address) AS event`;
const RECIPIENT = 'LEFT JOIN recipients r ON r.message_id = e.message_id AND r.position = e.position';
const EVENTS = `SELECT ${EVENT} FROM events e ${RECIPIENT} ORDER BY e.seq`;
const OWED = `SELECT d.id, d.status, ${EVENT} FROM webhook_deliveries d
  JOIN events e ON e.account_id = d.account_id AND e.seq = d.event_seq ${RECIPIENT}`;
const ENDPOINT = `SELECT is_active AS "isActive", events, deleted_at IS NOT NULL AS "isDeleted" FROM webhooks WHERE id = $1`;
/** Events that an endpoint must receive after its last change and that have no delivery to it. */
const OWED_SINCE = `SELECT e.seq::int FROM events e WHERE e.type = ANY ($2) AND e.recorded_at > $3
  AND NOT EXISTS (SELECT FROM webhook_deliveries d WHERE d.account_id = e.account_id AND d.event_seq = e.seq AND d.webhook_id = $1)`;

interface StoredEndpoint {
  readonly isActive: boolean;
  readonly events: readonly string[];
  readonly isDeleted: boolean;
}
const sameNames = (left: readonly string[], right: readonly string[]) =>
  [...left].sort().join() === [...right].sort().join();

interface Owed {
  readonly id: string;
  readonly status: string;
  /** Type, message and recipient of the delivery's event. */
  readonly event: string;
}

/** Shipped price of an SMS, for each 160 characters and recipient. */
const PRICE = 30;
const UNIT = 160;
/** A text in the GSM alphabet is one part up to 160 characters. A longer text is split into parts of 153. */
const partsOf = (text: string) => (text.length <= 160 ? 1 : Math.ceil(text.length / 153));
/** Largest difference in ms between clocks that count as synchronised. */
const TOLERANCE_MS = 5_000;
const LOCK_WAIT_MS = 5_000;

type Accepted = Extract<Told, { kind: 'accepted' }>;
const acceptedOf = ({ told }: Wanted): Accepted[] => told.filter((one) => one.kind === 'accepted');

/** Returns one sentence for each fault found. */
export async function judge(client: pg.Client, seen: Seen): Promise<string[]> {
  const { rows: stored } = await client.query<Stored>(STORED);
  const { rows: events } = await client.query<{ event: string }>(EVENTS);
  const { rows: owed } = await client.query<Owed>(OWED);
  const wrong = [
    ...judgeAcceptance(stored, seen.wanted),
    ...judgeCancellation(stored, seen),
    ...judgeCarrier(stored, seen),
    ...judgeReading(stored, seen),
    ...judgeFeed(
      events.map(({ event }) => event),
      seen.fed,
    ),
    ...judgeHooks(owed, seen),
  ];
  for (const { id, state, since, changes } of seen.endpoints) {
    if (!state) continue;
    const { rows: found } = await client.query<StoredEndpoint>(ENDPOINT, [id]);
    const [kept] = found;
    const isAsTold = state.isDeleted
      ? kept?.isDeleted !== false
      : kept?.isDeleted === false && kept.isActive === state.isActive && sameNames(kept.events, state.events);
    if (!isAsTold) {
      wrong.push(
        `endpoint ${id} is ${JSON.stringify(kept)}, but its owner was told ${JSON.stringify(state)}: ${changes.join('; ')}`,
      );
    }
    if (!isAsTold || !state.isActive || state.isDeleted) continue;
    // The gateway that recorded an event may be ahead of the clock that timed the endpoint's last change.
    const { rows } = await client.query(OWED_SINCE, [id, state.events, new Date(since + TOLERANCE_MS)]);
    if (rows.length > 0)
      wrong.push(
        `endpoint ${id} is not owed ${rows.length} events, the first: ${rows[0].seq}; ${changes.join('; ')}`,
      );
  }
  return wrong;
}

function judgeAcceptance(stored: readonly Stored[], wanted: readonly Wanted[]): string[] {
  const byText = Map.groupBy(stored, ({ content }) => content);
  const wrong: string[] = [];
  for (const one of wanted) {
    const { text, told, key, to, askedAt } = one;
    const found = byText.get(text) ?? [];
    const ids = new Set(found.map(({ id }) => id));
    const accepted = acceptedOf(one);
    const toldIds = new Set(accepted.map(({ id }) => id));
    const whom = `"${text}"${key === undefined ? '' : ' (with a key)'}`;
    const said = told.map((each) => (each.kind === 'accepted' ? each.id : each.kind)).join(', ');
    const fault = (what: string) => wrong.push(`${whom} was told ${said}: ${what}`);
    if (toldIds.size > 1) fault('several ids for one message');
    if (ids.size > 1) fault(`it was accepted ${ids.size} times`);
    for (const id of toldIds) if (!ids.has(id)) fault('it is not there');
    if (toldIds.size === 0 && !told.some(({ kind }) => kind === 'unknown') && ids.size > 0)
      fault('it was accepted all the same');
    if (ids.size === 1 && found.map(({ to }) => to).join() !== to.join()) fault('it has other recipients');
    if (new Set(accepted.map(({ answer }) => answer.text)).size > 1) fault('repeats got different answers');
    for (const { cost, createdAt, answer } of accepted) {
      if (cost !== costOf(text) * to.length) fault(`it cost ${cost}`);
      const at = Date.parse(createdAt);
      // A message may join a transaction that has waited for its account.
      if (at < askedAt - TOLERANCE_MS - LOCK_WAIT_MS || at > answer.answeredAt + TOLERANCE_MS)
        fault(`it was created at ${createdAt}, asked for at ${new Date(askedAt).toISOString()}`);
    }
  }
  return wrong;
}

const costOf = (text: string) => PRICE * Math.ceil(text.length / UNIT);

/**
 * Checks that every message with a confirmed cancellation is canceled and was never sent, and that no other is
 * canceled.
 */
function judgeCancellation(stored: readonly Stored[], { wanted, handedOver }: Seen): string[] {
  const byText = Map.groupBy(stored, ({ content }) => content);
  const left = new Set(handedOver.map(({ to }) => to));
  const wrong: string[] = [];
  for (const { text, canceled } of wanted) {
    for (const { id, to, code, refunds, status } of byText.get(text) ?? []) {
      const isCanceled = status === 'failed' && code === 'canceled';
      const what = `message ${id} to ${to} is ${status} (${code})`;
      if (canceled.includes('canceled') && !isCanceled) wrong.push(`${what}, and was told to be canceled`);
      if (isCanceled && !canceled.some((said) => said === 'canceled' || said === 'unknown'))
        wrong.push(`${what}, and who asked for that was told ${canceled.join(', ')}`);
      if (isCanceled && left.has(to)) wrong.push(`${what}, and the carrier got it`);
      if (isCanceled && refunds !== 1) wrong.push(`${what}, and refunded ${refunds} times`);
    }
  }
  return wrong;
}

function judgeCarrier(stored: readonly Stored[], { handedOver, atRisk, mayBeTwice }: Seen): string[] {
  const byNumber = Map.groupBy(handedOver, ({ to }) => to);
  const wrong: string[] = [];
  let twice = 0;
  const known = new Set(stored.map(({ to }) => to));
  for (const number of byNumber.keys())
    if (!known.has(number)) wrong.push(`${number} got a message that is not there`);
  for (const { id, to, content, status, code, sent, cost, refunds } of stored) {
    const submits = byNumber.get(to) ?? [];
    const parts = Array.from({ length: partsOf(content) }, (_, index) =>
      submits.filter(({ part }) => part === index + 1),
    );
    const mayHaveTaken = submits.filter(({ answer }) => answer !== 'throttled' && answer !== 'rejected');
    const reports = submits.flatMap((submit) => submit.reports);
    const what = `message ${id} to ${to} is ${status}${code === null ? '' : ` (${code})`}`;
    const unanswered = submits.filter(({ answer }) => answer === 'none').length;
    const most = 1 + unanswered + (atRisk.get(to) ?? 0);
    // If one part of a text is throttled, the gateway sends the whole text again.
    if (parts.length === 1 || mayHaveTaken.length === submits.length)
      for (const own of parts)
        twice += Math.max(0, own.filter((submit) => mayHaveTaken.includes(submit)).length - most);
    if (cost !== costOf(content)) wrong.push(`${what} and cost ${cost}`);
    if (status === 'sent' && parts.some((own) => !own.some((submit) => mayHaveTaken.includes(submit))))
      wrong.push(`${what}, and the carrier took none`);
    if (
      status === 'delivered' &&
      !parts.every((own) => own.some((submit) => submit.reports.includes('DELIVRD')))
    )
      wrong.push(`${what}, and the carrier never said so`);
    // The carrier may accept a submission and refuse its repeat.
    const isRefused = submits.some(({ answer }) => answer === 'rejected');
    if (status === 'failed' && sent && !isRefused && !reports.includes('UNDELIV'))
      wrong.push(`${what} after it was sent, and the carrier never said so`);
    if (status === 'failed' && !sent && code !== 'canceled' && !isRefused)
      wrong.push(`${what}, and the carrier never refused it`);
    if (refunds > 0 && mayHaveTaken.length > 0)
      wrong.push(`${what} and refunded, though the carrier may have taken it`);
    const due = dueStatus(parts);
    if (status === 'sent' && due !== undefined && due !== 'sent')
      wrong.push(`${what}, and its reports said ${reports.join(', ')}`);
  }
  if (twice > mayBeTwice)
    wrong.push(`${twice} messages left once more than may be, at most ${mayBeTwice} hand-overs were cut off`);
  return wrong;
}

/**
 * Returns the status that follows from the reports, if each part was submitted once and accepted. Returns undefined
 * otherwise.
 */
function dueStatus(parts: readonly (readonly HandedOver[])[]): 'sent' | 'final' | undefined {
  const only = parts.map((own) => (own.length === 1 && own[0]?.answer === 'accepted' ? own[0] : undefined));
  if (only.includes(undefined)) return undefined;
  const failed = only.some((own) => own?.reports[0] === 'UNDELIV');
  return failed || only.every((own) => own && own.reports.length > 0) ? 'final' : 'sent';
}

/** Checks that lists, single messages and the balance agree with the tables. */
function judgeReading(
  stored: readonly Stored[],
  { statuses, walks, balance, openingBalance, wanted }: Seen,
): string[] {
  const wrong: string[] = [];
  const now = new Map(stored.map(({ id, to, status }) => [`${id} ${to}`, status]));
  for (const [key, told] of statuses) {
    const status = now.get(key);
    if (status === undefined) wrong.push(`${key} was told to be ${told}, and is not there`);
    else if (!mayFollow(told, status)) wrong.push(`${key} was told to be ${told}, and is ${status}`);
  }
  const messages = [...Map.groupBy(stored, ({ id }) => id)].map(([id, own]) => ({
    id,
    status: messageStatus(own),
  }));
  for (const [status, { ids, total }] of walks) {
    const there = messages.filter((message) => status === undefined || message.status === status);
    const list = `the list of ${status ?? 'all'} messages`;
    if (total !== there.length) wrong.push(`${list} counts ${total}, and there are ${there.length}`);
    if (ids.toReversed().join() !== there.map(({ id }) => id).join())
      wrong.push(`${list} has others than there are`);
  }
  const spent = stored.reduce((sum, { cost, refunds }) => sum + cost * (1 - refunds), 0);
  if (balance !== undefined && balance !== openingBalance - spent)
    wrong.push(`the balance is told to be ${balance}, and should be ${openingBalance - spent}`);
  const texts = new Set(wanted.map(({ text }) => text));
  for (const { content, id } of stored) if (!texts.has(content)) wrong.push(`nobody asked for message ${id}`);
  return wrong;
}

function messageStatus(recipients: readonly Stored[]): string {
  const counted = (status: string) => recipients.filter((one) => one.status === status).length;
  if (counted('pending') > 0) return 'pending';
  if (counted('failed') === recipients.length) return 'failed';
  return counted('failed') + counted('delivered') === recipients.length ? 'delivered' : 'sent';
}

/** Returns type, message and recipient of an event, from its JSON as clients receive it. */
function eventOf(told: string): string {
  const { event, messageId, data } = JSON.parse(told) as {
    event: string;
    messageId?: string;
    data: { to?: string };
  };
  return [event, messageId, data.to].filter((each) => each !== undefined).join(' ');
}

/** Checks that the reader of the event feed received every event once and in order. */
function judgeFeed(there: readonly string[], fed: readonly FedEvent[]): string[] {
  const given = fed.map(eventOf);
  const first = there.findIndex((event, index) => given[index] !== event);
  if (first === -1 && given.length === there.length) return [];
  const at = first === -1 ? there.length : first;
  return [
    `the feed's follower was given ${given.length} of ${there.length} events, the first that differs (${at}): ${given[at]}, and there is ${there[at]}`,
  ];
}

/** Checks that each endpoint received all events due to it, with the same content as in the event feed. */
function judgeHooks(owed: readonly Owed[], { hooks, fed }: Seen): string[] {
  const taken = Map.groupBy(hooks, ({ deliveryId }) => deliveryId);
  const wrong: string[] = [];
  const there = new Map(owed.map(({ id, event }) => [id, event]));
  const told = new Set(fed);
  for (const { id, status } of owed)
    if (status === 'success' && !taken.has(id))
      wrong.push(`delivery ${id} is a success that the receiver never saw`);
  for (const [id, own] of taken) {
    const event = there.get(id);
    if (event === undefined) wrong.push(`the receiver got delivery ${id}, which is not there`);
    else if (own.some(({ body }) => eventOf(body) !== event || !told.has(body)))
      wrong.push(`the receiver got another event with delivery ${id}, or in other words than the feed's`);
  }
  return wrong;
}
