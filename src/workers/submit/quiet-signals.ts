import type { Channel } from '../../domain/messages/message.ts';
import type { QuietHours } from '../../domain/messages/quiet-hours.ts';
import type { Clock } from '../../domain/ports/system.ts';

/** The longest delay of a timer in Node, in ms. */
const MAX_DELAY_MS = 2 ** 31 - 1;

interface QuietSignal {
  readonly signal: AbortSignal;
  stop(): void;
}

/**
 * The signals with which the marketing of one job waits for its carriers. They abort when the job's own signal does,
 * and when quiet hours begin: a carrier may be slow, and the tail of a large message must not leave in them (R386).
 */
export class QuietSignals implements Disposable {
  readonly #quietHours: QuietHours;
  readonly #clock: Clock;
  readonly #ofJob: AbortSignal;
  /** By the beginning of the quiet hours, in ms. The recipients of a country share one signal. */
  readonly #signals = new Map<number, QuietSignal>();

  constructor(quietHours: QuietHours, clock: Clock, ofJob: AbortSignal) {
    this.#quietHours = quietHours;
    this.#clock = clock;
    this.#ofJob = ofJob;
  }

  /** Returns the signal for a recipient, whose number is not in quiet hours now. */
  of(channel: Channel, address: string): AbortSignal {
    const beginning = this.#quietHours.beginsAfter(channel, address, this.#clock.now())?.getTime();
    if (beginning === undefined) return this.#ofJob;
    const known = this.#signals.get(beginning) ?? this.#create(beginning);
    this.#signals.set(beginning, known);
    return known.signal;
  }

  [Symbol.dispose](): void {
    for (const { stop } of this.#signals.values()) stop();
    this.#signals.clear();
  }

  #create(beginning: number): QuietSignal {
    const controller = new AbortController();
    const leftMs = () => beginning - this.#clock.now().getTime();
    const abort = () => controller.abort();
    // `aborted` is computed when it is read, as that of a lease: a place at the carrier may become free before the
    // timer fires, and the database's clock may be ahead of the timer.
    const signal = Object.defineProperty(controller.signal, 'aborted', {
      get: () => this.#ofJob.aborted || leftMs() <= 0,
    });
    let timer: NodeJS.Timeout;
    const wait = () => {
      timer = setTimeout(
        () => (leftMs() <= 0 ? abort() : wait()),
        Math.min(MAX_DELAY_MS, Math.max(1, leftMs())),
      );
    };
    wait();
    this.#ofJob.addEventListener('abort', abort);
    const stop = () => {
      clearTimeout(timer);
      this.#ofJob.removeEventListener('abort', abort);
    };
    return { signal, stop };
  }
}
