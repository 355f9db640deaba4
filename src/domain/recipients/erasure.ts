/**
 * An **erasure** removes what is stored of one person in an account (R490). It is a row, which a worker advances in
 * small transactions, so that it goes on after a crash and no send waits for it. Once it is done, it is a receipt.
 */
import type { Environment } from '../caller.ts';
import type { AddressKind, TargetAddress } from './personal-address.ts';

/** What an erasure removed or changed, by place. */
export const ERASED_PLACES = [
  'messages',
  'texts',
  'recipients',
  'events',
  'reports',
  'answers',
  'inboundMessages',
  'contacts',
  'importFaults',
  'devices',
  'suppressions',
  'numberCounts',
  'requestBodies',
] as const;
export type ErasedPlace = (typeof ERASED_PLACES)[number];
export type ErasedCounts = Readonly<Record<ErasedPlace, number>>;

export const NOTHING_ERASED = Object.fromEntries(ERASED_PLACES.map((place) => [place, 0])) as ErasedCounts;

/** Longest reason, in UTF-16 code units. */
export const ERASURE_REASON_MAX_LENGTH = 200;

export interface Erasure {
  readonly id: string;
  readonly accountId: string;
  /** The environment whose data is erased. Null: both. */
  readonly environment: Environment | null;
  readonly kind: AddressKind;
  /** A keyed hash of account and address (R492). */
  readonly addressHash: string;
  readonly reason: string;
  /** The key or person who asked, as in the audit log. */
  readonly requestedBy: string;
  readonly createdAt: Date;
  readonly doneAt: Date | null;
  readonly erased: ErasedCounts;
  /** The number of the audit entry of the request. */
  readonly auditSequence: number;
  /** The number of the audit entry that records the end. */
  readonly doneAuditSequence: number | null;
}

/**
 * The steps of an erasure, in order. `collect`: lists the messages that an index finds. `collect_emails`: lists emails
 * by reading them in the order of their numbers, because no index has copies and other spellings. `answers`: erases in
 * stored answers. `erase`: everything else.
 */
export type ErasureStep = 'collect' | 'collect_emails' | 'answers' | 'erase';

/** Where a step that reads many rows goes on. */
export type ErasureMark = Readonly<Record<string, string | number>>;

/** An erasure that is not done. */
export interface ErasureWork extends Erasure {
  readonly step: ErasureStep;
  readonly mark: ErasureMark | null;
  /** All addresses of the person. They are deleted when the erasure is done. */
  readonly targets: readonly TargetAddress[];
}

/** Returns the sum of two counts. */
export function addCounts(one: ErasedCounts, more: Partial<ErasedCounts>): ErasedCounts {
  return Object.fromEntries(
    ERASED_PLACES.map((place) => [place, one[place] + (more[place] ?? 0)]),
  ) as ErasedCounts;
}
