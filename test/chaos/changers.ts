/** Customers who rotate their keys and change their webhooks. */
import { type Answer, type Api, isUnknown, pause } from './api.ts';
import type { Random } from './random.ts';

/**
 * Time in ms after a rotation until every process must refuse the old key. The rule allows one second. The rest is for
 * a process that waits for CPU time on a busy machine.
 */
const KEY_ENDS_MS = 5_000;
const EVENTS = ['sms.sent', 'sms.failed'] as const;
const MOST_ENDPOINTS = 4;

interface Key {
  readonly id: string;
  readonly whole: string;
}

export class KeyRotator {
  readonly #api: Api;
  readonly #owner: string;
  #key: Key | undefined;
  /** Old keys of rotations, and the time from which every process must refuse them (Date.now, ms). */
  readonly #ended: { readonly whole: string; readonly at: number }[] = [];
  #isOver = false;
  #rotating: Promise<unknown> = Promise.resolve();

  /** `owner` is a key that may change other keys. No test client rotates it. */
  constructor(api: Api, owner: string) {
    this.#api = api;
    this.#owner = owner;
  }

  /** The key that clients use at this moment. */
  get current(): string {
    return this.#key?.whole ?? this.#owner;
  }

  start(random: Random): void {
    this.#rotating = Promise.all([this.#rotate(random.fork()), this.#probe(random.fork())]);
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#rotating;
  }

  async #rotate(random: Random): Promise<void> {
    while (!this.#isOver) {
      const old = this.#key;
      const path = old ? `/developer/keys/${old.id}/rotate` : '/developer/keys';
      const body = old ? {} : { name: 'chaos', scopes: ['FULL_ACCESS'], environment: 'production' };
      const answer = await this.#api.ask(random, path, { method: 'POST', key: this.#owner, body });
      if (answer?.status === 201) {
        const { apiKey, key } = answer.body as { apiKey: { keyId: string }; key: string };
        this.#key = { id: apiKey.keyId, whole: key };
        if (old) this.#ended.push({ whole: old.whole, at: answer.answeredAt + KEY_ENDS_MS });
      } else if (isUnknown(answer) || answer.status === 409) {
        // The lost answer held the new key, which is shown only once. So another key is created. It is unknown whether
        // the old key has ended.
        this.#key = undefined;
      }
      await pause(random.between(300, 1_500));
    }
  }

  /** Sends requests with old keys of rotations. Each one must be refused. */
  async #probe(random: Random): Promise<void> {
    while (!this.#isOver) {
      const ended = this.#ended.filter(({ at }) => at < Date.now());
      if (ended.length > 0) {
        const { whole, at } = random.pick(ended);
        const answer = await this.#api.ask(random, '/account', { key: whole });
        if (answer?.status === 200)
          this.#api.oddities.push(
            `a key was let in ${Date.now() - at + KEY_ENDS_MS} ms after it was told to be rotated away`,
          );
      }
      await pause(random.between(50, 300));
    }
  }
}

/** An endpoint as its owner knows it. */
export interface KnownEndpoint {
  readonly id: string;
  /** The state in the last answer. Undefined if the outcome of the last change is unknown. */
  state:
    | { readonly isActive: boolean; readonly events: readonly string[]; readonly isDeleted: boolean }
    | undefined;
  /** Time of that last change (Date.now, ms). */
  since: number;
  /** Each change that was asked for, with its answer, for the report of a fault. */
  readonly changes: string[];
}

export class WebhookChanger {
  readonly endpoints: KnownEndpoint[] = [];
  readonly #api: Api;
  readonly #owner: string;
  readonly #url: string;
  #isOver = false;
  #changing: Promise<void> = Promise.resolve();

  constructor(api: Api, owner: string, url: string) {
    this.#api = api;
    this.#owner = owner;
    this.#url = url;
  }

  /** Registers an endpoint that no client changes. Throws if the registration fails. */
  async registerSteady(random: Random): Promise<void> {
    const body = { url: `${this.#url}/steady`, events: EVENTS };
    const answer = await this.#api.ask(random, '/developers/webhooks', {
      method: 'POST',
      key: this.#owner,
      body,
    });
    if (answer?.status !== 201) throw new Error(`the webhook was not registered: ${answer?.text}`);
  }

  start(random: Random): void {
    this.#changing = this.#change(random);
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#changing;
  }

  async #change(random: Random): Promise<void> {
    while (!this.#isOver) {
      const there = this.endpoints.filter(({ state }) => state && !state.isDeleted);
      const endpoint = there.length > 0 && random.chance(0.8) ? random.pick(there) : undefined;
      if (endpoint) await this.#changeOne(random, endpoint);
      else if (there.length < MOST_ENDPOINTS) await this.#add(random);
      await pause(random.between(100, 900));
    }
  }

  async #add(random: Random): Promise<void> {
    const events = eventsOf(random);
    const body = { url: `${this.#url}/changing`, events, maxRetries: random.between(0, 5) };
    const answer = await this.#api.ask(random, '/developers/webhooks', {
      method: 'POST',
      key: this.#owner,
      body,
    });
    if (answer?.status !== 201) return;
    const { webhook } = answer.body as { webhook: { id: string } };
    const state = { isActive: true, events, isDeleted: false };
    this.endpoints.push({
      id: webhook.id,
      state,
      since: answer.answeredAt,
      changes: [noteOf('add', events, answer)],
    });
  }

  async #changeOne(random: Random, endpoint: KnownEndpoint): Promise<void> {
    const path = `/developers/webhooks/${endpoint.id}`;
    const ask = (method: string, to: string, body?: object) =>
      this.#api.ask(random, to, { method, key: this.#owner, ...(body ? { body } : {}) });
    const state = endpoint.state ?? { isActive: true, events: EVENTS, isDeleted: false };
    const { answer, after } = await random.pick<
      () => Promise<{ answer: Answer | undefined; after: typeof state }>
    >([
      async () => {
        const after = { ...state, isActive: !state.isActive };
        return { answer: await ask('PUT', path, { isActive: after.isActive }), after };
      },
      async () => {
        const after = { ...state, events: eventsOf(random) };
        return { answer: await ask('PUT', path, { events: after.events }), after };
      },
      async () => ({ answer: await ask('POST', `${path}/rotate-secret`), after: state }),
      async () => ({ answer: await ask('POST', `${path}/test`), after: state }),
      async () => {
        const since = new Date(Date.now() - 5_000).toISOString();
        return { answer: await ask('POST', `${path}/recover`, { since }), after: state };
      },
      async () => ({ answer: await ask('DELETE', path), after: { ...state, isDeleted: true } }),
    ])();
    if (after === state) return;
    endpoint.changes.push(noteOf('change', after, answer));
    if (answer?.status === 200) Object.assign(endpoint, { state: after, since: answer.answeredAt });
    else if (isUnknown(answer)) endpoint.state = undefined;
  }
}

const noteOf = (what: string, to: object, answer: Answer | undefined): string =>
  `${what} to ${JSON.stringify(to)}: ${answer?.status ?? 'no answer'} ${answer && answer.status >= 400 ? answer.text : ''} at ${new Date(answer?.answeredAt ?? Date.now()).toISOString()}`;

const eventsOf = (random: Random): readonly string[] =>
  random.pick([EVENTS, ['sms.sent'], ['sms.failed']] as const);
