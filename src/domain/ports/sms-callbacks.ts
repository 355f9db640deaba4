import type { DeliveryReport, InboundText } from './provider.ts';

/** A request that a carrier sends to `/callbacks/sms/<carrier>` (R15). */
export interface SmsCallback {
  /** The carrier in the path. */
  readonly carrier: string;
  /** The path and query as sent. */
  readonly target: string;
  /** The form fields of the body. */
  readonly form: URLSearchParams;
  header(name: string): string | undefined;
}

export interface InboundAnswer {
  readonly contentType: string;
  readonly body: string;
}

export type SmsCallbackReading =
  | {
      readonly kind: 'reports';
      readonly provider: string;
      readonly reports: readonly DeliveryReport[];
      /** A text from a subscriber. Only in callbacks that are proven. */
      readonly inbound?: InboundText | undefined;
      /** The body that the carrier wants as an answer to a text, instead of `{}`. */
      readonly inboundAnswer?: InboundAnswer | undefined;
      /** True if a signature or token proves that the carrier sent it (R211). */
      readonly isProven: boolean;
    }
  /** The signature or token is wrong. */
  | { readonly kind: 'refused' }
  /** No carrier of that name is configured. */
  | { readonly kind: 'unknown' };

/** Parses the callbacks of carriers. */
export type ReadSmsCallback = (callback: SmsCallback) => SmsCallbackReading;
