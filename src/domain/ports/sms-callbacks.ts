import type { DeliveryReport } from './provider.ts';

/** A carrier's call to `/callbacks/sms/<carrier>` (R15). */
export interface SmsCallback {
  /** The carrier that the path names. */
  readonly carrier: string;
  /** Path and query, as they came. */
  readonly target: string;
  /** The fields of the form. */
  readonly form: URLSearchParams;
  header(name: string): string | undefined;
}

export type SmsCallbackReading =
  | {
      readonly kind: 'reports';
      readonly provider: string;
      readonly reports: readonly DeliveryReport[];
      /** Whether a signature or a token shows that the carrier sent it; otherwise anybody may have. */
      readonly isProven: boolean;
    }
  /** The signature, or the token, is not right. */
  | { readonly kind: 'refused' }
  /** No carrier of that kind is configured. */
  | { readonly kind: 'unknown' };

/** Reads carriers' callbacks. */
export type ReadSmsCallback = (callback: SmsCallback) => SmsCallbackReading;
