/** Customers who read: the event feed, single messages, lists and the balance. */
import { type Answer, type Api, pause } from './api.ts';
import type { Random } from './random.ts';

/** An event as the feed gives it, in one line. */
export type FedEvent = string;

/** How far a status is on its way. */
const STEPS: Readonly<Record<string, number>> = { pending: 0, sent: 1, delivered: 2, failed: 2 };
const PAGE = 100;

export class Readers {
  /** What the follower of the feed was given, in order. */
  readonly fed: FedEvent[] = [];
  /** The last status that somebody was told of a recipient, by message id and number. */
  readonly statuses = new Map<string, string>();
  readonly #api: Api;
  readonly #key: () => string;
  #isOver = false;
  #isAtRest = false;
  /** Those who wait for the follower to be at the end of the feed. */
  #waiting: (() => void)[] = [];
  #looking: Promise<unknown> = Promise.resolve();
  #following: Promise<void> = Promise.resolve();

  constructor(api: Api, key: () => string) {
    this.#api = api;
    this.#key = key;
  }

  /** `latest` gives ids of messages that were accepted lately. */
  start(random: Random, latest: () => readonly string[]): void {
    this.#looking = Promise.all([this.#look(random.fork()), this.#watch(random.fork(), latest)]);
    this.#following = this.#follow(random.fork());
  }

  /** Resolves when nobody looks any more; the follower goes on. */
  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#looking;
  }

  /** Resolves when the feed was followed to its end of now. */
  catchUp(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  async stopFollowing(): Promise<void> {
    this.#isAtRest = true;
    await this.#following;
  }

  /** Every message of the history, page by page, with the total that each page says. At rest only. */
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

  /** The balance; undefined without an answer. */
  async balance(random: Random): Promise<number | undefined> {
    const answer = await this.#api.ask(random, '/account', { key: this.#key() });
    return answer?.status === 200 ? (answer.body as { balance: number }).balance : undefined;
  }

  /** Takes the feed page by page, and goes on from the cursor that it was given. */
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

  /** Lists and reads the balance, as dashboards do. */
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

  /** Looks messages up again and again: what was accepted is there, and a status never goes back. */
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

/** Whether a recipient that was `before` may be `after` later. */
export function mayFollow(before: string, after: string): boolean {
  return before === after || (STEPS[before] ?? 0) < (STEPS[after] ?? 0);
}
