/** Customers who send, repeat and cancel messages, and record the answers. */
import { type Answer, type Api, codeOf, isUnknown, pause } from './api.ts';
import type { Random } from './random.ts';

/**
 * The outcome of one request, as its client knows it. `refused`: the answer said that nothing was accepted. `unknown`:
 * there was no answer, or its code was `outcome_unknown`.
 */
export type Told =
  | {
      readonly kind: 'accepted';
      readonly id: string;
      readonly cost: number;
      readonly createdAt: string;
      readonly answer: Answer;
    }
  | { readonly kind: 'refused'; readonly code: string }
  | { readonly kind: 'unknown' };

/** One message that a client wants to send. Without an idempotency key, each try has its own text and numbers. */
export interface Wanted {
  readonly to: readonly string[];
  readonly text: string;
  readonly key: string | undefined;
  /** Time at which the message must be sent (Date.now, ms). Undefined: at once. */
  readonly scheduledFor: number | undefined;
  /** Time of the first request (Date.now, ms). */
  readonly askedAt: number;
  readonly told: Told[];
  /** The outcome of each request to cancel the message: `canceled`, `unknown`, or the error code of a refusal. */
  readonly canceled: string[];
}

/** One request to one certain gateway, to see whether that gateway serves. */
export interface Probe {
  readonly gateway: number;
  readonly askedAt: number;
  readonly answeredAt: number;
  /** True if the gateway answered with a status below 500. So a refusal with 4xx counts as served. */
  readonly isServed: boolean;
}

const TRIES = 4;
/** Pause between two probes, in ms. */
const PROBE_MS = 400;
/** Number of recipients of a message to many. The carrier needs a while for them, so that a disorder can interrupt. */
const BULK = 60;
const HOUR_MS = 3_600_000;

export class Senders {
  readonly wanted: Wanted[] = [];
  readonly probes: Probe[] = [];
  readonly #api: Api;
  readonly #key: () => string;
  #numbers = 0;
  #isOver = false;
  #sending: Promise<unknown> = Promise.resolve();

  /** `key` returns the API key to use at that moment. */
  constructor(api: Api, key: () => string) {
    this.#api = api;
    this.#key = key;
  }

  /** Starts `count` senders. `gateways` returns the address of each gateway, or undefined while it is unreachable. */
  start(random: Random, count: number, gateways: () => readonly (string | undefined)[]): void {
    const senders = Array.from({ length: count }, () => this.#sendOn(random.fork()));
    const probes = gateways().map((_, gateway) =>
      this.#probe(random.fork(), gateway, () => gateways()[gateway]),
    );
    this.#sending = Promise.all([...senders, ...probes]);
  }

  /** Stops the senders. Resolves when all have ended. */
  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#sending;
  }

  /** Sends to many over the gateway at `url`. Resolves with the answer. */
  async sendMany(random: Random, url: string): Promise<void> {
    const wanted = this.#want(random, undefined, BULK);
    wanted.told.push((await this.#send(random, wanted, url)).told);
  }

  /** Returns the ids of the latest `count` accepted messages. */
  latest(count: number): string[] {
    return this.wanted
      .slice(-count)
      .flatMap(({ told }) => told.flatMap((one) => (one.kind === 'accepted' ? one.id : [])));
  }

  async #sendOn(random: Random): Promise<void> {
    const cancellations: Promise<void>[] = [];
    while (!this.#isOver) {
      const key = random.chance(0.5) ? `key-${this.#numbers}-${random.between(0, 1e9)}` : undefined;
      let wanted = this.#want(random, key);
      for (let tries = 0; tries < TRIES; tries += 1) {
        if (tries > 0 && key === undefined) wanted = this.#want(random, undefined);
        // Two identical requests at once, as when a user presses a button twice.
        const twins = key !== undefined && random.chance(0.1) ? 2 : 1;
        const answers = await Promise.all(Array.from({ length: twins }, () => this.#send(random, wanted)));
        wanted.told.push(...answers.map(({ told }) => told));
        const accepted = answers.find(({ told }) => told.kind === 'accepted')?.told;
        if (accepted?.kind === 'accepted' && wanted.scheduledFor !== undefined && random.chance(0.7))
          cancellations.push(this.#cancel(random.fork(), wanted, accepted.id));
        // With an idempotency key, a client may repeat any request, even an accepted one. Without a key, it repeats
        // only a refused request, because another repeat could send the message twice.
        const repeats =
          key === undefined
            ? answers.every(({ told }) => told.kind === 'refused')
            : !accepted || random.chance(0.2);
        if (!repeats || this.#isOver) break;
        await pause(Math.min(answers[0]?.retryAfterMs ?? 0, 500) + random.between(0, 50));
      }
      await pause(random.between(0, 60));
    }
    await Promise.all(cancellations);
  }

  async #probe(random: Random, gateway: number, urlOf: () => string | undefined): Promise<void> {
    while (!this.#isOver) {
      const url = urlOf();
      if (url !== undefined) {
        const wanted = this.#want(random, undefined);
        const askedAt = Date.now();
        const { told, status } = await this.#send(random, wanted, url);
        wanted.told.push(told);
        const isServed = status !== undefined && status < 500;
        this.probes.push({ gateway, askedAt, answeredAt: Date.now(), isServed });
      }
      await pause(PROBE_MS);
    }
  }

  #want(random: Random, key: string | undefined, count?: number): Wanted {
    const recipients = count ?? (random.chance(0.1) ? random.between(2, 4) : random.chance(0.02) ? BULK : 1);
    const number = this.#numbers + 1;
    this.#numbers += recipients;
    const to = Array.from(
      { length: recipients },
      (_, index) => `+2567${String(number + index).padStart(8, '0')}`,
    );
    const text = `chaos ${number}${random.chance(0.15) ? ' and more of it'.repeat(12) : ''}`;
    const scheduledFor =
      count === undefined && random.chance(0.12)
        ? Date.now() + (random.chance(0.3) ? HOUR_MS : random.between(500, 3_000))
        : undefined;
    const wanted = { to, text, key, scheduledFor, askedAt: Date.now(), told: [], canceled: [] };
    this.wanted.push(wanted);
    return wanted;
  }

  async #send(
    random: Random,
    { to, text, key, scheduledFor }: Wanted,
    url?: string,
  ): Promise<{ told: Told; status?: number; retryAfterMs?: number | undefined }> {
    const answer = await this.#api.ask(random, '/developers/sms', {
      method: 'POST',
      ...(url === undefined ? {} : { url }),
      key: this.#key(),
      headers: key === undefined ? {} : { 'Idempotency-Key': key },
      body: {
        to: to.join(','),
        message: text,
        ...(scheduledFor === undefined ? {} : { scheduledFor: new Date(scheduledFor).toISOString() }),
      },
    });
    if (isUnknown(answer)) return { told: { kind: 'unknown' } };
    const { status, body, retryAfterMs } = answer as Answer;
    if (status === 200) {
      const { id, cost, createdAt } = body as { id: string; cost: number; createdAt: string };
      return { told: { kind: 'accepted', id, cost, createdAt, answer: answer as Answer }, status };
    }
    return { told: { kind: 'refused', code: codeOf(body) }, status, retryAfterMs };
  }

  /** Cancels a scheduled message close to its send time, so that cancellation and sending compete. */
  async #cancel(random: Random, wanted: Wanted, id: string): Promise<void> {
    const leftMs = (wanted.scheduledFor ?? 0) - Date.now();
    await pause(leftMs < 10_000 ? leftMs + random.between(-1_000, 500) : random.between(0, 2_000));
    for (let tries = 0; tries < TRIES; tries += 1) {
      const answer = await this.#api.ask(random, `/developers/messages/${id}`, {
        method: 'DELETE',
        key: this.#key(),
      });
      const isOpen = isUnknown(answer);
      const status = isOpen ? 0 : (answer as Answer).status;
      wanted.canceled.push(
        isOpen ? 'unknown' : status === 200 ? 'canceled' : codeOf((answer as Answer).body),
      );
      if (status === 200 || status === 409) return;
      await pause(random.between(100, 500));
    }
  }
}
