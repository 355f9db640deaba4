import type { Environment } from '../caller.ts';
import type { DeviceKeys, Platform } from '../devices/device.ts';
import type { Erasure } from '../recipients/erasure.ts';
import type { PersonScope } from './erasure-store.ts';

/** Received from the person. */
export interface PersonalInbound {
  readonly id: string;
  readonly channel: string;
  readonly provider: string;
  readonly sid: string;
  readonly sender: string;
  readonly sentAt: Date;
  readonly receivedAt: Date;
  readonly type: string;
  readonly content: string | null;
}

export interface PersonalDevice {
  readonly id: string;
  readonly environment: Environment;
  readonly platform: Platform;
  readonly token: string;
  readonly keys: DeviceKeys | null;
  readonly userId: string;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** A cell of a row of an imported file that was refused. */
export interface PersonalImportFault {
  readonly importId: string;
  readonly line: number;
  readonly column: string | null;
  readonly value: string;
  readonly code: string;
  readonly message: string;
}

/** A delivery report that matched no message when it came, though its sid is that of a message now. */
export interface PersonalReport {
  readonly messageId: string;
  readonly position: number;
  readonly receivedAt: Date;
  readonly report: Readonly<Record<string, unknown>>;
}

/** The review of a message that was held as possible pumping (R393). */
export interface PersonalReview {
  readonly messageId: string;
  readonly block: string;
  readonly heldAt: Date;
  readonly decidedAt: Date | null;
  readonly decision: string | null;
}

/** A number of the person, and what is counted or noted of it. */
export interface PersonalNumber {
  readonly address: string;
  /** Messages to the number in the hour that send limits count (R370). */
  readonly limited: readonly { readonly hour: Date; readonly messages: number }[];
  /** When the pumping watch counted the number (R392). */
  readonly countedAt: Date | null;
  /**
   * When the account last wrote to the number on WhatsApp, also if the retention deleted the message (R559). Null if
   * another account did since.
   */
  readonly whatsAppAt: Date | null;
  /** When the account last wrote to the number by SMS that the retention deleted, by sender (R533). */
  readonly smsBefore: readonly { readonly sender: string; readonly wroteAt: Date }[];
}

/** Reads what is stored of one person, for an export (R493). */
export interface PersonStore {
  /** Returns devices of the person's users after `afterId`, in the order of ids. */
  devicesAfter(scope: PersonScope, afterId: string, limit: number): Promise<readonly PersonalDevice[]>;
  /** Returns messages from the person after `afterId`, in the order of ids, which is that of arrival. */
  inboundAfter(
    accountId: string,
    phones: readonly string[],
    afterId: string,
    limit: number,
  ): Promise<readonly PersonalInbound[]>;
  importFaults(scope: PersonScope): Promise<readonly PersonalImportFault[]>;
  numbers(accountId: string, phones: readonly string[]): Promise<readonly PersonalNumber[]>;
  /** Returns the erasures that were asked for with one of these hashes, oldest first. */
  erasures(scope: PersonScope, addressHashes: readonly string[]): Promise<readonly Erasure[]>;
  reports(messageIds: readonly string[]): Promise<readonly PersonalReport[]>;
  reviews(messageIds: readonly string[]): Promise<readonly PersonalReview[]>;
}
