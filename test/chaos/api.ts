/** An HTTP client for the gateways of a run. It sends the requests of customers. */
import type { Random } from './random.ts';

export interface Answer {
  readonly status: number;
  /** The body as received (`text`) and parsed (`body`). */
  readonly text: string;
  readonly body: unknown;
  readonly retryAfterMs: number | undefined;
  /** Times of the request and of its answer (Date.now, ms). */
  readonly askedAt: number;
  readonly answeredAt: number;
}

export interface Asked {
  readonly method?: string;
  readonly key: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: object;
  /** The gateway to ask. Without it, any reachable gateway is asked. */
  readonly url?: string;
}

const PATIENCE_MS = 45_000;
/** Kinds of answers that a disorder may wait for: an accepted message, or a page of the event feed with events. */
export type Told = 'send' | 'events';
const toldBy = (text: string): Told | undefined => {
  if (text.startsWith('{"data":[{"event":')) return 'events';
  return text.startsWith('{"id":') ? 'send' : undefined;
};

export class Api {
  /** Answers that no disorder explains. Each one fails the run. */
  readonly oddities: string[] = [];
  readonly #urls: () => readonly string[];
  readonly #onTold = new Map<Told, (() => void)[]>();

  /** `urls` returns the addresses of the gateways that are reachable at that moment. */
  constructor(urls: () => readonly string[]) {
    this.#urls = urls;
  }

  get urls(): readonly string[] {
    return this.#urls();
  }

  /** Resolves when a client next receives an answer of the kind `what`. */
  told(what: Told): Promise<void> {
    return new Promise((resolve) => this.#onTold.set(what, [...(this.#onTold.get(what) ?? []), resolve]));
  }

  /** Sends a request. Resolves with undefined if no complete answer arrived. */
  async ask(random: Random, path: string, { method = 'GET', key, headers, body, url }: Asked) {
    const to = url ?? (this.urls.length > 0 ? random.pick(this.urls) : undefined);
    if (to === undefined) return void (await pause(50));
    const askedAt = Date.now();
    try {
      const response = await fetch(`${to}/api/v1${path}`, {
        method,
        headers: {
          ...headers,
          'X-Api-Key': key,
          ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(PATIENCE_MS),
      });
      const retryAfter = response.headers.get('retry-after');
      const text = await response.text();
      const answer: Answer = {
        status: response.status,
        text,
        body: JSON.parse(text),
        retryAfterMs: retryAfter === null ? undefined : Number(retryAfter) * 1_000,
        askedAt,
        answeredAt: Date.now(),
      };
      const told = answer.status === 200 ? toldBy(text) : undefined;
      if (told) for (const resolve of this.#onTold.get(told)?.splice(0) ?? []) resolve();
      if (answer.status === 500) this.oddities.push(`${method} ${path} was answered 500: ${text}`);
      return answer;
    } catch {
      return undefined;
    }
  }
}

/** The code of an error, in either of the two shapes (R168, R169). */
export function codeOf(body: unknown): string {
  const { error } = body as { error?: string | { code?: string } };
  return typeof error === 'string' ? error : (error?.code ?? 'none');
}

/** True if the outcome of a change is unknown: the answer is missing, or its code is `outcome_unknown`. */
export function isUnknown(answer: Answer | undefined): answer is undefined {
  return answer === undefined || (answer.status >= 400 && codeOf(answer.body) === 'outcome_unknown');
}

export const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, Math.max(0, ms)));
