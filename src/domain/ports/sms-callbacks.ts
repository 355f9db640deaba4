import type { DeliveryReport } from './provider.ts';

/** A carrier's call to `/callbacks/sms/<carrier>` (R15). */
export interface SmsCallback {
  /** The carrier in the path. */
  readonly carrier: string;
  /** Path and query as sent. */
  readonly target: string;
  /** The form fields. */
  readonly form: URLSearchParams;
  header(name: string): string | undefined;
}

export type SmsCallbackReading =
  | {
      readonly kind: 'reports';
      readonly provider: string;
      readonly reports: readonly DeliveryReport[];
      /** A signature or token proves that the carrier sent it (R211). */
      readonly isProven: boolean;
    }
  /** Wrong signature or token. */
  | { readonly kind: 'refused' }
  /** No such carrier is configured. */
  | { readonly kind: 'unknown' };

/** Parses carriers' callbacks. */
export type ReadSmsCallback = (callback: SmsCallback) => SmsCallbackReading;
