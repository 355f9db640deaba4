import type { MessagesResource } from './resources.generated.ts';
import { wait } from './retries.ts';
import type { MessageDetails } from './types.generated.ts';

/** Numbers by which the carrier simulator decides what becomes of an SMS (R226). */
export const testNumbers = {
  /** Accepted, and delivered about a second later. */
  delivered: '+256700001000',
  /** Refused by the carrier. */
  rejected: '+256700000001',
  /** Accepted, then reported undeliverable. */
  undeliverable: '+256700000002',
  /** Fails twice for the time being, then is accepted. */
  delayed: '+256700000003',
  /** Accepted; no delivery report ever comes. */
  unreported: '+256700000004',
} as const;

export interface SettledOptions {
  /** Milliseconds to wait at most; 60,000 when absent. */
  readonly timeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

const SETTLED_TIMEOUT_MS = 60_000;
const LOOK_INTERVAL_MS = 250;

/** For tests and first steps, with a gateway whose carriers are simulated. */
export class Testing {
  readonly numbers = testNumbers;
  readonly #messages: MessagesResource;
  readonly #origin: string;

  constructor(messages: MessagesResource, origin: string) {
    this.#messages = messages;
    this.#origin = origin;
  }

  /** A webhook address that the gateway itself answers with 200, outside production only. */
  webhookUrl(name = 'sdk'): string {
    return `${this.#origin}/simulator/webhook/${encodeURIComponent(name)}`;
  }

  /**
   * The message once it is `delivered` or `failed`. Asks again and again: a program in production should let webhooks
   * tell it. Throws `GatewayError`, and an `Error` after `timeoutMs`.
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
