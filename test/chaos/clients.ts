/** Customers who send, repeat, list and follow the feed, and remember what they were told. */
import type { Random } from './random.ts';

/**
 * What a client was told of one request. `refused`: nothing was accepted, as the answer said. `unknown`: there was no
 * answer, or it said that nobody knows.
 */
export type Told =
  | { readonly kind: 'accepted'; readonly id: string }
  | { readonly kind: 'refused'; readonly code: string }
  | { readonly kind: 'unknown' };

/** One message as a client wants it: without a key each try has a text and number of its own. */
export interface Wanted {
  readonly to: string;
  readonly text: string;
  readonly key: string | undefined;
  readonly told: Told[];
}

/** What identifies an event of a message: each happens once. */
export interface FedEvent {
  readonly event: string;
  readonly messageId: string;
}

interface Answer {
  readonly status: number;
  readonly body: unknown;
  readonly retryAfterMs: number | undefined;
}

const PATIENCE_MS = 45_000;
const TRIES = 4;

export class Clients {
  readonly wanted: Wanted[] = [];
  /** What followers of the feed were given. */
  readonly fed: FedEvent[] = [];
  /** Answers that nothing explains. */
  readonly oddities: string[] = [];
  readonly #random: Random;
  readonly #urls: () => readonly string[];
  readonly #key: string;
  #sending: Promise<unknown> = Promise.resolve();
  #following: Promise<void> = Promise.resolve();
  #isOver = false;
  #isAtRest = false;
  #numbers = 0;

  /** `urls` are the gateways that can be reached now. */
  constructor(random: Random, urls: () => readonly string[], key: string) {
    this.#random = random;
    this.#urls = urls;
    this.#key = key;
  }

  /** Sends from `count` clients at once until `stop`, lists, and follows the feed. */
  start(count: number): void {
    const senders = Array.from({ length: count }, () => this.#sendOn(this.#random.fork()));
    this.#sending = Promise.all([...senders, this.#look(this.#random.fork())]);
    this.#following = this.#follow(this.#random.fork());
  }

  /** Resolves when nobody sends any more. */
  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#sending;
  }

  /** Resolves when the feed was followed to its end. */
  async stopFollowing(): Promise<void> {
    this.#isAtRest = true;
    await this.#following;
  }

  async #sendOn(random: Random): Promise<void> {
    while (!this.#isOver) {
      const key = random.chance(0.5) ? `key-${this.#numbers}-${random.between(0, 1e9)}` : undefined;
      let wanted = this.#want(key);
      for (let tries = 0; tries < TRIES; tries += 1) {
        if (tries > 0 && key === undefined) wanted = this.#want(undefined);
        const { told, retryAfterMs } = await this.#send(random, wanted);
        wanted.told.push(told);
        // Who has a key may repeat whatever happened, even what was accepted; who has none only what was refused.
        const repeats =
          key === undefined ? told.kind === 'refused' : told.kind !== 'accepted' || random.chance(0.2);
        if (!repeats || this.#isOver) break;
        await pause(Math.min(retryAfterMs ?? 0, 500) + random.between(0, 50));
      }
      await pause(random.between(0, 60));
    }
  }

  #want(key: string | undefined): Wanted {
    const number = ++this.#numbers;
    const wanted = { to: `+2567${String(number).padStart(8, '0')}`, text: `chaos ${number}`, key, told: [] };
    this.wanted.push(wanted);
    return wanted;
  }

  async #send(
    random: Random,
    { to, text, key }: Wanted,
  ): Promise<{ told: Told; retryAfterMs?: number | undefined }> {
    const answer = await this.#ask(random, '/api/v1/developers/sms', {
      method: 'POST',
      headers: {
        'Content-Type': 'application/json',
        ...(key === undefined ? {} : { 'Idempotency-Key': key }),
      },
      body: JSON.stringify({ to, message: text }),
    });
    if (answer === undefined) return { told: { kind: 'unknown' } };
    const { status, body, retryAfterMs } = answer;
    if (status === 200) return { told: { kind: 'accepted', id: (body as { id: string }).id } };
    const code = codeOf(body);
    if (code === 'outcome_unknown') return { told: { kind: 'unknown' } };
    if (status === 500) this.oddities.push(`a send was answered 500: ${JSON.stringify(body)}`);
    return { told: { kind: 'refused', code }, retryAfterMs };
  }

  /** Takes the feed page by page, and goes on from the cursor that it was given. */
  async #follow(random: Random): Promise<void> {
    let cursor: string | undefined;
    let isBehind = true;
    while (!this.#isAtRest || isBehind) {
      const after = cursor === undefined ? '' : `?after=${encodeURIComponent(cursor)}`;
      const answer = await this.#ask(random, `/api/v1/developers/events${after}`);
      if (answer?.status === 200) {
        const page = answer.body as { data: FedEvent[]; cursor: string };
        this.fed.push(...page.data);
        isBehind = page.data.length > 0;
        cursor = page.cursor;
      } else if (answer?.status === 500)
        this.oddities.push(`the feed was answered 500: ${JSON.stringify(answer.body)}`);
      await pause(random.between(20, 200));
    }
  }

  /** Lists and reads the balance, as dashboards do. */
  async #look(random: Random): Promise<void> {
    while (!this.#isOver) {
      const path = random.pick([
        '/api/v1/developers/sms/history?status=delivered',
        '/api/v1/developers/sms/history?limit=50&page=2',
        '/api/v1/account',
        '/api/v1/developers/webhooks',
      ]);
      const answer = await this.#ask(random, path);
      if (answer?.status === 500)
        this.oddities.push(`${path} was answered 500: ${JSON.stringify(answer.body)}`);
      await pause(random.between(50, 300));
    }
  }

  /** Undefined where there was no whole answer. */
  async #ask(random: Random, path: string, init: RequestInit = {}): Promise<Answer | undefined> {
    const urls = this.#urls();
    if (urls.length === 0) {
      await pause(50);
      return undefined;
    }
    try {
      const response = await fetch(`${random.pick(urls)}${path}`, {
        ...init,
        headers: { ...init.headers, 'X-Api-Key': this.#key },
        signal: AbortSignal.timeout(PATIENCE_MS),
      });
      const retryAfter = response.headers.get('retry-after');
      const retryAfterMs = retryAfter === null ? undefined : Number(retryAfter) * 1_000;
      return { status: response.status, body: await response.json(), retryAfterMs };
    } catch {
      return undefined;
    }
  }
}

/** The code of an error, in either of the two shapes (R168, R169). */
function codeOf(body: unknown): string {
  const { error } = body as { error?: string | { code?: string } };
  return typeof error === 'string' ? error : (error?.code ?? 'none');
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
