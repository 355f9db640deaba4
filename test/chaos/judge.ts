/**
 * Judges a run by what clients, carrier and receiver saw. It knows the rules of money and states by itself and imports
 * nothing of the gateway.
 */
import type pg from 'pg';
import type { FedEvent, Wanted } from './clients.ts';

/** What the carrier knows of one hand-over. */
export interface HandedOver {
  readonly to: string;
  /** It answered with success, with an error, not at all, or by cutting the connection. */
  readonly answer: 'accepted' | 'refused' | 'none' | 'cut';
  /** What it reported, if anything. */
  readonly report: 'DELIVRD' | 'UNDELIV' | undefined;
}

export interface Seen {
  readonly wanted: readonly Wanted[];
  readonly fed: readonly FedEvent[];
  readonly handedOver: readonly HandedOver[];
  /** Delivery id and event sequence of each hook that the receiver answered with success. */
  readonly hooks: readonly { readonly deliveryId: string; readonly body: string }[];
  /** Hand-overs that may have been cut off: so many messages may have left twice. */
  readonly mayBeTwice: number;
}

interface StoredMessage {
  readonly id: string;
  readonly content: string;
  readonly to: string;
  readonly status: string;
  readonly sent: boolean;
  readonly refunds: number;
}

const STORED = `SELECT m.id, m.content, r.address AS "to", r.status, r.sent_at IS NOT NULL AS sent,
    (SELECT count(*)::int FROM ledger_entries l WHERE l.message_id = m.id AND l.kind = 'refund') AS refunds
  FROM messages m JOIN recipients r ON r.message_id = m.id`;

/** What is wrong, in sentences. */
export async function judge(client: pg.Client, seen: Seen): Promise<string[]> {
  const { rows } = await client.query<StoredMessage>(STORED);
  const wrong = [...judgeAcceptance(rows, seen.wanted), ...judgeCarrier(rows, seen)];
  const { rows: events } = await client.query<FedEvent>(
    'SELECT type AS event, message_id AS "messageId" FROM events ORDER BY seq',
  );
  wrong.push(...judgeFeed(events, seen.fed));
  const { rows: owed } = await client.query<{ id: string; status: string }>(
    'SELECT id, status FROM webhook_deliveries',
  );
  wrong.push(...judgeHooks(owed, seen));
  return wrong;
}

function judgeAcceptance(stored: readonly StoredMessage[], wanted: readonly Wanted[]): string[] {
  const byText = Map.groupBy(stored, ({ content }) => content);
  const wrong: string[] = [];
  for (const { text, told, key } of wanted) {
    const found = byText.get(text) ?? [];
    const ids = new Set(told.flatMap((one) => (one.kind === 'accepted' ? [one.id] : [])));
    const unknown = told.some(({ kind }) => kind === 'unknown');
    const whom = `${text}${key === undefined ? '' : ' (with a key)'} was told ${JSON.stringify(told)}`;
    if (ids.size > 1) wrong.push(`${whom}: several ids for one message`);
    if (found.length > 1) wrong.push(`${whom}: it was accepted ${found.length} times`);
    for (const id of ids) if (!found.some((one) => one.id === id)) wrong.push(`${whom}: it is not there`);
    if (ids.size === 0 && !unknown && found.length > 0) wrong.push(`${whom}: it was accepted all the same`);
  }
  return wrong;
}

function judgeCarrier(stored: readonly StoredMessage[], { handedOver, mayBeTwice }: Seen): string[] {
  const byNumber = Map.groupBy(handedOver, ({ to }) => to);
  const wrong: string[] = [];
  let twice = 0;
  const known = new Set(stored.map(({ to }) => to));
  for (const number of byNumber.keys())
    if (!known.has(number)) wrong.push(`${number} got a message that is not there`);
  for (const { id, to, status, sent, refunds } of stored) {
    const submits = byNumber.get(to) ?? [];
    const accepted = submits.filter(({ answer }) => answer === 'accepted');
    const reports = new Set(submits.flatMap(({ report }) => report ?? []));
    twice += Math.max(0, submits.filter(({ answer }) => answer !== 'refused').length - 1);
    const what = `message ${id} to ${to} is ${status}`;
    // What the carrier never answered is tried again after minutes only.
    if (status === 'pending' && submits.every(({ answer }) => answer === 'refused' || answer === 'accepted'))
      wrong.push(`${what} at rest`);
    if (status === 'sent' && accepted.length === 0 && submits.every(({ answer }) => answer === 'refused'))
      wrong.push(`${what}, and the carrier took none`);
    if (status === 'delivered' && !reports.has('DELIVRD'))
      wrong.push(`${what}, and the carrier never said so`);
    if (status === 'failed' && sent && !reports.has('UNDELIV'))
      wrong.push(`${what} after it was sent, and the carrier never said so`);
    if (status === 'sent' && accepted.length === 1 && submits.length === 1 && reports.size === 1)
      wrong.push(`${what}, and its only report said ${[...reports]}`);
    if (refunds > 0 && submits.some(({ answer }) => answer !== 'refused'))
      wrong.push(`${what} and refunded, though the carrier may have taken it`);
  }
  if (twice > mayBeTwice)
    wrong.push(`${twice} messages left twice, at most ${mayBeTwice} hand-overs were cut off`);
  return wrong;
}

/** Followers of the feed have seen each event, once, and no others. */
function judgeFeed(stored: readonly FedEvent[], fed: readonly FedEvent[]): string[] {
  const nameOf = ({ event, messageId }: FedEvent) => `${event} of ${messageId}`;
  const given = fed.map(nameOf);
  const there = new Set(stored.map(nameOf));
  const seen = new Set(given);
  const missed = [...there].filter((name) => !seen.has(name));
  const wrong: string[] = [];
  if (missed.length > 0)
    wrong.push(`the feed's follower missed ${missed.length} events, the first: ${missed[0]}`);
  if (given.length !== seen.size) wrong.push(`the feed gave ${given.length - seen.size} events twice`);
  const stray = given.filter((name) => !there.has(name));
  if (stray.length > 0)
    wrong.push(`the feed gave ${stray.length} events that are not there, the first: ${stray[0]}`);
  return wrong;
}

function judgeHooks(
  owed: readonly { readonly id: string; readonly status: string }[],
  { hooks }: Seen,
): string[] {
  const taken = new Set(hooks.map(({ deliveryId }) => deliveryId));
  const wrong: string[] = [];
  for (const { id, status } of owed) {
    if (status === 'pending') wrong.push(`delivery ${id} is pending at rest`);
    if (status === 'success' && !taken.has(id))
      wrong.push(`delivery ${id} is a success that the receiver never saw`);
  }
  const there = new Set(owed.map(({ id }) => id));
  for (const id of taken)
    if (!there.has(id)) wrong.push(`the receiver got delivery ${id}, which is not there`);
  return wrong;
}
