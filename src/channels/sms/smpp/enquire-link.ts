import type { SmppTiming } from './smpp-settings.ts';

/**
 * Sends enquire_link to an SMSC at intervals. While the answer is missing, any other PDU also proves that the SMSC
 * works. A slow carrier that answers in order answers enquire_link late, too.
 */
export class EnquireLink {
  readonly #timing: Pick<SmppTiming, 'enquireIntervalMs' | 'enquireTimeoutMs'>;
  readonly #ask: () => Promise<unknown>;
  readonly #onSilence: (reason: string) => void;
  #hasHeard = false;
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;

  /**
   * `ask` sends enquire_link and resolves with the answer. `onSilence` is called if nothing arrives for
   * `enquireTimeoutMs`.
   */
  constructor(timing: SmppTiming, ask: () => Promise<unknown>, onSilence: (reason: string) => void) {
    this.#timing = timing;
    this.#ask = ask;
    this.#onSilence = onSilence;
  }

  start(): void {
    if (!this.#isStopped)
      this.#timer = setTimeout(() => void this.#enquire(), this.#timing.enquireIntervalMs);
  }

  /** Call this when anything arrives from the SMSC. */
  heard(): void {
    this.#hasHeard = true;
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }

  async #enquire(): Promise<void> {
    this.#listen();
    await this.#ask();
    clearTimeout(this.#timer);
    this.start();
  }

  #listen(): void {
    const { enquireTimeoutMs } = this.#timing;
    this.#hasHeard = false;
    this.#timer = setTimeout(() => {
      if (this.#hasHeard) this.#listen();
      else this.#onSilence(`enquire_link unanswered for ${enquireTimeoutMs} ms`);
    }, enquireTimeoutMs);
  }
}
