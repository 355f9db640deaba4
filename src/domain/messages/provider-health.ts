import type { Dependencies } from '../dependencies.ts';
import { operation } from '../operation.ts';
import type { ProviderHealthStore, Routing } from '../ports/routing.ts';
import type { Clock } from '../ports/system.ts';

/** A process says again what it said, though nothing changed, before this is over. */
const REPEAT_MS = 30_000;
/** What nobody has repeated for so long was said by a process that is gone. */
const STALE_MS = 75_000;

/** Tells the other processes how the carriers and providers of this one are. */
export class PublishHealth {
  readonly #store: ProviderHealthStore;
  readonly #routing: Pick<Routing, 'status'>;
  readonly #process: string;
  readonly #clock: Clock;
  #said = '';
  #saidAt = 0;

  /** `process` names this process among all. */
  constructor(store: ProviderHealthStore, routing: Pick<Routing, 'status'>, process: string, clock: Clock) {
    this.#store = store;
    this.#routing = routing;
    this.#process = process;
    this.#clock = clock;
  }

  /** Publishes what has changed, and from time to time what has not. */
  async run(): Promise<void> {
    const statuses = this.#routing.status();
    const now = this.#clock.now();
    const text = JSON.stringify(statuses);
    if (text === this.#said && now.getTime() - this.#saidAt < REPEAT_MS) return;
    await this.#store.publish(this.#process, statuses, now, new Date(now.getTime() - STALE_MS));
    this.#said = text;
    this.#saidAt = now.getTime();
  }

  /** Takes back what was said: the process ends. */
  async withdraw(): Promise<void> {
    await this.#store.withdraw(this.#process);
  }
}

/** Looking at the health of carriers and providers, whichever process they belong to. */
export function providerOperations({ stores, clock }: Pick<Dependencies, 'stores' | 'clock'>) {
  return {
    health: operation('provider.health', { operator: true }, (_caller, _input: Record<string, never>) =>
      stores.providerHealth.saidSince(new Date(clock.now().getTime() - STALE_MS)),
    ),
  };
}
