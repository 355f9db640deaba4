/**
 * **Send limits** bound what an account or a key may send (R370). They are stored in rows. An account has at most one
 * row. A key has its own row and the rows that it shares (R373). A send must be allowed by all rows that apply to it.
 *
 * A row counts in the current hour and day of the UTC clock (R371). Amounts are in minor units.
 */
import { DomainError } from '../errors.ts';
import { type Channel, type CountedLimit, type PreparedMessage, spendOf } from '../messages/message.ts';
import { restrictedRange } from '../messages/number-ranges.ts';
import { fromMinor } from '../money/money.ts';
import { copiesOf } from '../suppressions/suppression.ts';

/** The limits in one row. Null: there is no such limit. */
export interface SendLimits {
  readonly spendPerHourMinor: number | null;
  readonly spendPerDayMinor: number | null;
  readonly recipientsPerDay: number | null;
  readonly perNumberPerHour: number | null;
  /** Leading digits, without `+`, of the phone numbers that may be sent to. Null: all numbers. */
  readonly allowedPrefixes: readonly string[] | null;
  /**
   * Leading digits of premium-rate, shared-cost and satellite numbers that may be sent to. Without an entry, messages
   * to such numbers are refused (R374).
   */
  readonly openedPrefixes: readonly string[];
}

export const NO_LIMITS: SendLimits = {
  spendPerHourMinor: null,
  spendPerDayMinor: null,
  recipientsPerDay: null,
  perNumberPerHour: null,
  allowedPrefixes: null,
  openedPrefixes: [],
};

/** A row of limits. `keyId` is null for the limits of the whole account. */
export interface LimitRow extends SendLimits {
  readonly id: string;
  readonly accountId: string;
  readonly keyId: string | null;
}

/** A row, and the other keys that share it. */
export interface SharedLimitRow extends LimitRow {
  readonly sharedBy: readonly string[];
}

/** A row, with its counts of the current hour and day. */
export interface LimitUse extends SharedLimitRow {
  readonly hourMinor: number;
  readonly dayMinor: number;
  readonly dayRecipients: number;
  /** When the current hour and the current day end. */
  readonly hourEndsAt: Date;
  readonly dayEndsAt: Date;
  readonly now: Date;
}

/** A row while a batch is being decided. Its counts grow with each accepted message. */
export interface OpenLimit extends Omit<LimitUse, 'hourMinor' | 'dayMinor' | 'dayRecipients'> {
  hourMinor: number;
  dayMinor: number;
  dayRecipients: number;
  /** Number of messages in this hour, by phone number. */
  readonly numbers: Map<string, number>;
}

/** Returns the rows that apply to a send with the API key `keyId`. It is null for a send by a person. */
export function applying<Row extends SharedLimitRow>(
  rows: readonly Row[],
  keyId: string | null,
): readonly Row[] {
  return rows.filter(
    (row) => row.keyId === null || row.keyId === keyId || (keyId !== null && row.sharedBy.includes(keyId)),
  );
}

/** Returns the rows that count a send. Rows that only limit prefixes count nothing. */
export function countedIn(rows: readonly LimitRow[]): readonly CountedLimit[] {
  return rows.flatMap((row) => {
    const { id, spendPerHourMinor, spendPerDayMinor, recipientsPerDay, perNumberPerHour } = row;
    const limits = [spendPerHourMinor, spendPerDayMinor, recipientsPerDay, perNumberPerHour];
    const isCounted = limits.some((limit) => limit !== null);
    return isCounted ? [{ id, countsNumbers: perNumberPerHour !== null }] : [];
  });
}

/** True for channels whose addresses are phone numbers. */
const hasNumbers = (channel: Channel) => channel === 'sms' || channel === 'whatsapp';
const ownerOf = ({ keyId }: Pick<LimitRow, 'keyId'>) => (keyId === null ? 'account' : 'key');
const startsWithAny = (number: string, prefixes: readonly string[]) =>
  prefixes.some((prefix) => number.startsWith(prefix, 1));

/**
 * Throws `destination_not_allowed` if a row does not allow the prefix of a recipient (R370). Also throws it for a
 * premium-rate, shared-cost or satellite number whose prefix is in no `openedPrefixes` (R374).
 */
export function checkDestinations(
  rows: readonly LimitRow[],
  channel: Channel,
  recipients: readonly { readonly address: string }[],
): void {
  if (!hasNumbers(channel)) return;
  const limiting = rows.flatMap((row) =>
    row.allowedPrefixes === null ? [] : [{ row, prefixes: row.allowedPrefixes }],
  );
  const opened = rows.flatMap(({ openedPrefixes }) => openedPrefixes);
  for (const { address } of recipients) {
    const excluding = limiting.find(({ prefixes }) => !startsWithAny(address, prefixes));
    if (excluding) {
      const { row, prefixes } = excluding;
      const allowed = prefixes.map((prefix) => `+${prefix}`).join(', ');
      throw new DomainError(
        'destination_not_allowed',
        `${address} is not among the prefixes that this ${ownerOf(row)} may send to: ${allowed}.`,
        {
          field: 'to',
          value: address,
          limit: 'allowedPrefixes',
          of: ownerOf(row),
          allowedPrefixes: prefixes,
        },
      );
    }
    const range = channel === 'sms' ? restrictedRange(address) : undefined;
    if (range !== undefined && !startsWithAny(address, opened)) {
      throw new DomainError(
        'destination_not_allowed',
        `${address} is a ${range} number. Ask the operator to open its prefix for this account.`,
        { field: 'to', value: address, limit: 'openedPrefixes', of: 'account', range },
      );
    }
  }
}

/** The limit that refuses a message. */
export interface Breach {
  readonly row: OpenLimit;
  readonly limit: 'spendPerHour' | 'spendPerDay' | 'recipientsPerDay' | 'perNumberPerHour';
  readonly maximum: number;
  readonly used: number;
  readonly required: number;
  readonly resetsAt: Date;
  /** The phone number that would get too many messages. Undefined for other limits. */
  readonly address?: string;
}

type Counted = Pick<PreparedMessage, 'channel' | 'costMinor' | 'payload' | 'recipients' | 'review'>;

/** Returns the first limit that the message would exceed. Undefined if all rows allow the message. */
export function breachOf(message: Counted, rows: readonly OpenLimit[]): Breach | undefined {
  for (const row of rows) {
    const breach = breachOfRow(message, row);
    if (breach) return breach;
  }
  return undefined;
}

function breachOfRow(message: Counted, row: OpenLimit): Breach | undefined {
  const { channel, recipients } = message;
  const costMinor = spendOf(message);
  const { hourMinor, dayMinor, dayRecipients, hourEndsAt, dayEndsAt } = row;
  const count = countRecipients(message);
  const sums = [
    ['spendPerHour', row.spendPerHourMinor, hourMinor, costMinor, hourEndsAt],
    ['spendPerDay', row.spendPerDayMinor, dayMinor, costMinor, dayEndsAt],
    ['recipientsPerDay', row.recipientsPerDay, dayRecipients, count, dayEndsAt],
  ] as const;
  for (const [limit, maximum, used, required, resetsAt] of sums) {
    // Allow a message without cost, even if a lowered limit is already exceeded.
    if (maximum === null || required === 0 || used + required <= maximum) continue;
    return { row, limit, maximum, used, required, resetsAt };
  }
  const maximum = row.perNumberPerHour;
  if (maximum === null || !hasNumbers(channel)) return undefined;
  const full = recipients.find(({ address }) => (row.numbers.get(address) ?? 0) + 1 > maximum);
  if (!full) return undefined;
  const used = row.numbers.get(full.address) ?? 0;
  return {
    row,
    limit: 'perNumberPerHour',
    maximum,
    used,
    required: 1,
    resetsAt: hourEndsAt,
    address: full.address,
  };
}

/** Adds an accepted message to the counts of its rows. */
export function countIn(message: Counted, rows: readonly OpenLimit[]): void {
  for (const row of rows) {
    row.hourMinor += spendOf(message);
    row.dayMinor += spendOf(message);
    row.dayRecipients += countRecipients(message);
    for (const address of row.perNumberPerHour === null ? [] : numbersOf(message)) {
      row.numbers.set(address, (row.numbers.get(address) ?? 0) + 1);
    }
  }
}

/** Returns how many people a message is for: its recipients and, for email, the copies (cc, bcc) (R371). */
export function countRecipients({ channel, payload, recipients }: Counted): number {
  return recipients.length + (channel === 'email' ? copiesOf(payload).length : 0);
}

/** Returns the phone numbers of a message. Empty on channels without numbers. */
export function numbersOf({ channel, recipients }: Counted): readonly string[] {
  return hasNumbers(channel) ? recipients.map(({ address }) => address) : [];
}

/** Builds the refusal of a message: `rate_limit_exceeded` for one number, otherwise `spend_limit_reached` (R370). */
export function limitReached(breach: Breach, currency: string): DomainError {
  const { row, limit, maximum, used, required, resetsAt, address } = breach;
  const of = ownerOf(row);
  const resets = `It resets at ${resetsAt.toISOString()}.`;
  if (address !== undefined) {
    const retryAfterSeconds = Math.max(1, Math.ceil((resetsAt.getTime() - row.now.getTime()) / 1000));
    return new DomainError(
      'rate_limit_exceeded',
      `perNumberPerHour: this ${of} may send ${maximum} messages an hour to one number, and ${address} got ${used}. ${resets}`,
      { limit, of, maximum, used, value: address, resetsAt: resetsAt.toISOString() },
      retryAfterSeconds,
    );
  }
  const isSpend = limit !== 'recipientsPerDay';
  const shown = (value: number) => (isSpend ? fromMinor(value, currency) : value);
  const unit = isSpend ? currency : 'recipients';
  return new DomainError(
    'spend_limit_reached',
    `${limit}: this ${of} may use ${shown(maximum)} ${unit}; ${shown(used)} are used and this message needs ${shown(required)}. ${resets}`,
    {
      limit,
      of,
      maximum: shown(maximum),
      used: shown(used),
      required: shown(required),
      ...(isSpend ? { currency } : {}),
      resetsAt: resetsAt.toISOString(),
    },
  );
}

/** True if everything that `after` allows was allowed by `before` (R372). */
export function isLowered(before: SendLimits, after: SendLimits): boolean {
  const isAtMost = (was: number | null, is: number | null) => was === null || (is !== null && is <= was);
  const { allowedPrefixes } = before;
  return (
    isAtMost(before.spendPerHourMinor, after.spendPerHourMinor) &&
    isAtMost(before.spendPerDayMinor, after.spendPerDayMinor) &&
    isAtMost(before.recipientsPerDay, after.recipientsPerDay) &&
    isAtMost(before.perNumberPerHour, after.perNumberPerHour) &&
    (allowedPrefixes === null ||
      (after.allowedPrefixes ?? ['']).every((prefix) =>
        allowedPrefixes.some((allowed) => prefix.startsWith(allowed)),
      )) &&
    after.openedPrefixes.every((prefix) => before.openedPrefixes.some((opened) => prefix.startsWith(opened)))
  );
}
