/** Customers who read: the event feed, single messages, lists and the balance. */
import { type Answer, type Api, pause } from './api.ts';
import type { Random } from './random.ts';

/** An event as the feed gives it, in one line. */
export type FedEvent = string;

/** Order of the statuses. A status may only change to one with a higher number. */
const STEPS: Readonly<Record<string, number>> = { pending: 0, sent: 1, delivered: 2, failed: 2 };
const PAGE = 100;

export class Readers {
  /** The events that the reader of the feed received, in order. */
  readonly fed: FedEvent[] = [];
  /** The last status that a client received for each recipient, by message id and number. */
  readonly statuses = new Map<string, string>();
  readonly #api: Api;
  readonly #key: () => string;
  #isOver = false;
  #isAtRest = false;
  /** Called when the reader of the feed has reached its end. */
  #waiting: (() => void)[] = [];
  #looking: Promise<unknown> = Promise.resolve();
  #following: Promise<void> = Promise.resolve();

  constructor(api: Api, key: () => string) {
    this.#api = api;
    this.#key = key;
  }

  /** Starts the readers. `latest` returns the ids of recently accepted messages. */
  start(random: Random, latest: () => readonly string[]): void {
    this.#looking = Promise.all([this.#look(random.fork()), this.#watch(random.fork(), latest)]);
    this.#following = this.#follow(random.fork());
  }

  /** Stops the readers of lists and messages, and resolves when they have ended. The reader of the feed continues. */
  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#looking;
  }

  /** Resolves when the reader of the feed has reached its current end. */
  catchUp(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  async stopFollowing(): Promise<void> {
    this.#isAtRest = true;
    await this.#following;
  }

  /**
   * Reads the whole history page by page. Returns all ids and the total. Call it only when nothing changes any more.
   */
  async walk(random: Random, status?: string): Promise<{ ids: string[]; total: number } | undefined> {
    const ids: string[] = [];
    for (let page = 1; ; page += 1) {
      const filter = status === undefined ? '' : `&status=${status}`;
      const path = `/developers/sms/history?limit=${PAGE}&page=${page}${filter}`;
      const answer = await this.#api.ask(random, path, { key: this.#key() });
      if (answer?.status !== 200) return undefined;
      const { data, pagination } = answer.body as {
        data: { id: string }[];
        pagination: { total: number; pages: number };
      };
      ids.push(...data.map(({ id }) => id));
      if (page >= pagination.pages) return { ids, total: pagination.total };
    }
  }

  /** Returns the balance, or undefined without an answer. */
  async balance(random: Random): Promise<number | undefined> {
    const answer = await this.#api.ask(random, '/account', { key: this.#key() });
    return answer?.status === 200 ? (answer.body as { balance: number }).balance : undefined;
  }

  /** Reads the feed page by page, each from the cursor of the page before. */
  async #follow(random: Random): Promise<void> {
    let cursor: string | undefined;
    while (!this.#isAtRest) {
      const waiting = this.#waiting.splice(0);
      const after = cursor === undefined ? '' : `?after=${encodeURIComponent(cursor)}`;
      const answer = await this.#api.ask(random, `/developers/events${after}`, { key: this.#key() });
      if (answer?.status === 200) {
        const page = answer.body as { data: object[]; cursor: string };
        this.fed.push(...page.data.map((event) => JSON.stringify(event)));
        cursor = page.cursor;
        if (page.data.length === 0) for (const resolve of waiting.splice(0)) resolve();
      }
      this.#waiting.unshift(...waiting);
      await pause(random.between(5, 80));
    }
  }

  /** Repeats reads of lists and of the balance, as dashboards do. */
  async #look(random: Random): Promise<void> {
    while (!this.#isOver) {
      const path = random.pick([
        '/developers/sms/history?status=delivered',
        '/developers/sms/history?limit=50&page=2',
        '/account',
        '/developers/webhooks',
      ]);
      await this.#api.ask(random, path, { key: this.#key() });
      await pause(random.between(50, 300));
    }
  }

  /** Repeats lookups of messages. Checks that an accepted message is found, and that its status never goes back. */
  async #watch(random: Random, latest: () => readonly string[]): Promise<void> {
    while (!this.#isOver) {
      const ids = latest();
      const id = ids.length === 0 ? undefined : random.pick(ids);
      if (id !== undefined)
        this.#compare(id, await this.#api.ask(random, `/developers/messages/${id}`, { key: this.#key() }));
      await pause(random.between(0, 50));
    }
  }

  #compare(id: string, answer: Answer | undefined): void {
    if (answer?.status === 404)
      this.#api.oddities.push(`message ${id} was accepted, and looked up it is not there`);
    if (answer?.status !== 200) return;
    for (const { to, status } of (answer.body as { recipients: { to: string; status: string }[] })
      .recipients) {
      const key = `${id} ${to}`;
      const before = this.statuses.get(key) ?? 'pending';
      if (!mayFollow(before, status))
        this.#api.oddities.push(`message ${id} to ${to} was told to be ${before} and then ${status}`);
      this.statuses.set(key, status);
    }
  }
}

/** True if a recipient with status `before` may have status `after` later. */
export function mayFollow(before: string, after: string): boolean {
  return before === after || (STEPS[before] ?? 0) < (STEPS[after] ?? 0);
}
