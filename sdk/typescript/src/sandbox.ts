import type { MessagesResource } from './resources.generated.ts';
import { wait } from './retries.ts';
import type { MessageDetails } from './types.generated.ts';

/** Phone numbers for which the carrier simulator has a fixed outcome (R226). */
export const testNumbers = {
  /** The carrier accepts the SMS and delivers it about 1 s later. */
  delivered: '+256700001000',
  /** The carrier rejects the SMS. */
  rejected: '+256700000001',
  /** The carrier accepts the SMS and then reports it as undeliverable. */
  undeliverable: '+256700000002',
  /** The carrier fails twice with a temporary error, then accepts the SMS. */
  delayed: '+256700000003',
  /** The carrier accepts the SMS but never sends a delivery report. */
  unreported: '+256700000004',
} as const;

export interface SettledOptions {
  /** Maximum wait in milliseconds. Default: 60,000. */
  readonly timeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

const SETTLED_TIMEOUT_MS = 60_000;
const LOOK_INTERVAL_MS = 250;

/** Helpers for tests and first steps. They need a gateway with simulated carriers. */
export class Testing {
  readonly numbers = testNumbers;
  readonly #messages: MessagesResource;
  readonly #origin: string;

  constructor(messages: MessagesResource, origin: string) {
    this.#messages = messages;
    this.#origin = origin;
  }

  /** URL of a webhook receiver inside the gateway, which answers with 200. It does not exist in production. */
  webhookUrl(name = 'sdk'): string {
    return `${this.#origin}/simulator/webhook/${encodeURIComponent(name)}`;
  }

  /**
   * Resolves to the message when its status is `delivered` or `failed`. It polls, so use webhooks in production
   * instead. Throws `GatewayError`, or an `Error` after `timeoutMs`.
   */
  async settled(id: string, options: SettledOptions = {}): Promise<MessageDetails> {
    const { timeoutMs = SETTLED_TIMEOUT_MS, signal } = options;
    const deadline = Date.now() + timeoutMs;
    for (;;) {
      const message = await this.#messages.get(id, {}, { signal });
      if (message.status === 'delivered' || message.status === 'failed') return message;
      if (Date.now() >= deadline)
        throw new Error(`Message ${id} is still ${message.status} after ${timeoutMs} ms.`);
      await wait(LOOK_INTERVAL_MS, signal);
    }
  }
}
