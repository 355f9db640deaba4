/**
 * The rules of what an erasure removes from messages, events and stored answers (R491). An address of the person is
 * replaced by `ERASED`, so that counts and lists keep their length.
 */
import { deviceIdIn } from '../devices/device.ts';
import { redactContent } from '../messages/redact-content.ts';
import type { TargetAddress } from './personal-address.ts';

/** Stands in the place of an erased address. */
export const ERASED = 'erased';

/** True for a text that is an address of the person. */
export type IsTheirs = (text: string) => boolean;

/** Members of a message's resource that are its text. */
const TEXTS = ['content', 'title', 'subject'] as const;
/** Members of an event that a provider wrote or assigned. */
const OF_PROVIDER = ['sid', 'error'] as const;

/** Returns a predicate for the addresses of the person. Email addresses are compared without regard to case. */
export function theirs(targets: readonly TargetAddress[]): IsTheirs {
  const exact = new Set(
    targets.flatMap(({ kind, address }) =>
      kind === 'device' ? [address, deviceIdIn(address)] : kind === 'email' ? [] : [address],
    ),
  );
  const emails = new Set(targets.filter(({ kind }) => kind === 'email').map(({ address }) => address));
  return (text) => exact.has(text) || (emails.size > 0 && emails.has(text.toLowerCase()));
}

/** Replaces each text that is one of these addresses, at any depth. */
export function withoutAddresses<T>(value: T, isOne: IsTheirs, instead: string = ERASED): T {
  if (typeof value === 'string') return (isOne(value) ? instead : value) as T;
  if (Array.isArray(value)) return value.map((item) => withoutAddresses(item, isOne, instead)) as T;
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).map(([name, item]) => [name, withoutAddresses(item, isOne, instead)]);
  return Object.fromEntries(members) as T;
}

interface ErasableMessage {
  readonly payload: Readonly<Record<string, unknown>> | null;
  readonly recipients: readonly { readonly position: number; readonly address: string }[];
}

/**
 * True if nobody else got or gets the message. A text that several people got belongs to all of them, so it stays while
 * one of them is left. Those of `cc` and `bcc` got it, too. A push message went to the users and devices in its
 * payload.
 */
export function isOnlyTheirs({ payload, recipients }: ErasableMessage, isTheirs: IsTheirs): boolean {
  const named = ['userIds', 'deviceIds'].flatMap((name) => textsIn(payload?.[name]));
  const copies = ['cc', 'bcc'].flatMap((name) => textsIn(payload?.[name]));
  const to = named.length > 0 ? named : recipients.map(({ address }) => address);
  return [...to, ...copies].every((address) => address === ERASED || isTheirs(address));
}

function textsIn(list: unknown): readonly string[] {
  return Array.isArray(list) ? list.map(String) : [];
}

/** Returns a message's payload without the person, and without its texts if the message is only theirs. */
export function erasedPayload({ payload }: ErasableMessage, isTheirs: IsTheirs, isWhole: boolean) {
  const without = payload && withoutAddresses(payload, isTheirs);
  return without && isWhole ? redactContent(without) : without;
}

/**
 * Returns the envelope of an event without the person. `isOwn` says that the event is about this person alone: it then
 * loses what the provider said. With `isWhole` it loses every text.
 */
export function erasedEnvelope(
  body: string,
  isTheirs: IsTheirs,
  { isOwn, isWhole }: { isOwn: boolean; isWhole: boolean },
): string {
  const envelope: { data?: Record<string, unknown> } & Record<string, unknown> = JSON.parse(body);
  if (!envelope.data) return body;
  const without = withoutAddresses(envelope.data, isTheirs);
  const data = isWhole ? redactContent(without) : without;
  const gone = isOwn || isWhole ? OF_PROVIDER : [];
  for (const name of gone) if (typeof data[name] === 'string') data[name] = '';
  return JSON.stringify({ ...envelope, data });
}

/** Returns a stored answer of a send without the person. */
export function erasedAnswer(body: string, isTheirs: IsTheirs): string {
  const answer: Record<string, unknown> = JSON.parse(body);
  const isWhole = textsIn(answer.to).every((address) => address === ERASED || isTheirs(address));
  const without = withoutAddresses(answer, isTheirs);
  if (isWhole) {
    for (const name of TEXTS) if (typeof without[name] === 'string') without[name] = '';
    if (typeof without.sid === 'string') without.sid = null;
  }
  return JSON.stringify(without);
}
