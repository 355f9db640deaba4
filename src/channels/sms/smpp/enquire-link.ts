import type { SmppTiming } from './smpp-settings.ts';

/**
 * Asks an SMSC now and then whether it still hears (enquire_link). Whatever comes from it while the answer is awaited is
 * a sign of life: a carrier that answers slowly and in order answers this as late as all else.
 */
export class SmppEnquiry {
  readonly #timing: Pick<SmppTiming, 'enquireIntervalMs' | 'enquireTimeoutMs'>;
  readonly #ask: () => Promise<unknown>;
  readonly #onSilence: (reason: string) => void;
  #hasHeard = false;
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;

  /** `ask` resolves with the answer; `onSilence` is told when nothing at all came for enquireTimeoutMs. */
  constructor(timing: SmppTiming, ask: () => Promise<unknown>, onSilence: (reason: string) => void) {
    this.#timing = timing;
    this.#ask = ask;
    this.#onSilence = onSilence;
  }

  start(): void {
    if (!this.#isStopped)
      this.#timer = setTimeout(() => void this.#enquire(), this.#timing.enquireIntervalMs);
  }

  /** Something came from the SMSC. */
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
