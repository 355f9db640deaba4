/** How a request of ours ended. */
export type Answer =
  | { readonly kind: 'answered'; readonly status: number; readonly messageId: string | undefined }
  /** The session ended with the request on the wire: whether it arrived is not known. */
  | { readonly kind: 'closed'; readonly reason: string }
  /** The carrier answers others and not this one: whether it has it is not known. */
  | { readonly kind: 'skipped'; readonly reason: string }
  /** The session had ended before: nothing was sent. */
  | { readonly kind: 'unsent' };

/** How an attempt to bind ended. */
export type BindOutcome =
  | { readonly bound: true }
  | { readonly bound: false; readonly reason: string; readonly badCredentials: boolean };
