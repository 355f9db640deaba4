import type { Dependencies } from '../dependencies.ts';
import { operation } from '../operation.ts';
import { NO_ACCOUNT } from '../ports/changes.ts';
import type { ProviderStatus, Routing } from '../ports/routing.ts';
import type { Tx, UnitOfWork } from '../ports/stores.ts';
import type { Clock } from '../ports/system.ts';
import type { WhatsAppNumbers } from '../senders/whatsapp-numbers.ts';

/**
 * A status that has not changed is published again after this time, in ms. So other processes see that this process
 * still runs.
 */
const REPEAT_MS = 30_000;
/** A status older than this, in ms, is ignored, because its process has probably died. */
export const STALE_MS = 75_000;
const DAY_MS = 24 * 3_600_000;
/** Number of days for which the uptime of providers is kept. */
const UPTIME_DAYS = 400;

/** Publishes the status of this process's providers, so that all processes can read it, and announces it. */
export class PublishHealth {
  readonly #uow: UnitOfWork;
  readonly #routing: Pick<Routing, 'status'>;
  readonly #numbers: Pick<WhatsAppNumbers, 'keepProviders'>;
  readonly #process: string;
  readonly #clock: Clock;
  #published = '';
  #publishedAt = 0;
  /** What was published last: it held until the next publication. */
  #statuses: readonly ProviderStatus[] = [];

  /** `process` is the unique name of this process. */
  constructor(
    uow: UnitOfWork,
    routing: Pick<Routing, 'status'>,
    numbers: Pick<WhatsAppNumbers, 'keepProviders'>,
    process: string,
    clock: Clock,
  ) {
    this.#uow = uow;
    this.#routing = routing;
    this.#numbers = numbers;
    this.#process = process;
    this.#clock = clock;
  }

  /** Publishes the status if it changed, or if the last publication is `REPEAT_MS` old. Called repeatedly. */
  async run(): Promise<void> {
    await this.#numbers.keepProviders();
    const statuses = this.#routing.status();
    const now = this.#clock.now();
    const text = JSON.stringify(statuses);
    if (text === this.#published && now.getTime() - this.#publishedAt < REPEAT_MS) return;
    const staleAt = new Date(now.getTime() - STALE_MS);
    // A process that did not publish for long was frozen, and did not see its providers meanwhile.
    const seconds = Math.min((now.getTime() - this.#publishedAt) / 1_000, STALE_MS / 1_000);
    const forgetBefore = new Date(now.getTime() - UPTIME_DAYS * DAY_MS);
    await this.#announce(async (tx) => {
      await tx.providerHealth.publish(this.#process, statuses, now, staleAt);
      await tx.providerHealth.countUptime(this.#statuses, Math.max(0, seconds), now, forgetBefore);
    });
    this.#published = text;
    this.#statuses = statuses;
    this.#publishedAt = now.getTime();
  }

  /** Removes the status of this process. Called when the process stops. */
  async withdraw(): Promise<void> {
    await this.#announce((tx) => tx.providerHealth.withdraw(this.#process));
  }

  async #announce(change: (tx: Tx) => Promise<void>): Promise<void> {
    await this.#uow.run(async (tx) => {
      await change(tx);
      tx.announceLive('provider', [{ accountId: NO_ACCOUNT, id: this.#process }]);
    });
  }
}

/** The operation that reads the status of the providers of all processes. */
export function providerOperations({ stores, clock }: Pick<Dependencies, 'stores' | 'clock'>) {
  return {
    health: operation('provider.health', { operator: 'reading' }, (_caller, _input: Record<string, never>) =>
      stores.providerHealth.publishedSince(new Date(clock.now().getTime() - STALE_MS)),
    ),
  };
}
