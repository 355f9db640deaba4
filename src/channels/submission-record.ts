import type { SubmitOutcome } from '../domain/ports/provider.ts';
import type { ProviderRecord } from '../domain/ports/routing.ts';
import { storable } from '../domain/text.ts';

const MINUTE_MS = 60_000;
/** Number of minutes that are counted, including the current one. */
const MINUTES = 5;
const MAX_WORDS = 300;
/**
 * Finds URLs. A URL may contain secrets: a password, a token, or the endpoint of a browser. The search starts at every
 * letter, so the length of the scheme is limited to keep it fast.
 */
const ADDRESS = /([a-z][a-z0-9+.-]{0,30}:\/\/)(?:[^\s/]*@)?([^\s/?#"'<>]+)[^\s"'<>]*/gi;

/** Returns a provider's text for operators, in which URLs have lost their secret parts. */
export function redactSecrets(words: string): string {
  return storable(words.replace(ADDRESS, '$1$2'), MAX_WORDS);
}

/** Counts a provider's submissions of the last minutes by outcome. */
export class SubmissionRecord {
  readonly #now: () => number;
  #minutes: { minute: number; submitted: number; rejected: number; failed: number }[] = [];
  #lastError: { words: string; at: number } | undefined;
  #lastSuccessAt: number | undefined;

  /** `now` returns the Unix time in ms. */
  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  note(outcome: SubmitOutcome): void {
    const at = this.#now();
    const minute = this.#minuteOf(at);
    minute.submitted += 1;
    switch (outcome.kind) {
      case 'accepted':
        this.#lastSuccessAt = at;
        break;
      case 'rejected':
        minute.rejected += 1;
        break;
      case 'unavailable':
        minute.failed += 1;
        this.#lastError = { words: redactSecrets(outcome.reason), at };
    }
  }

  read(): ProviderRecord {
    const oldest = Math.floor(this.#now() / MINUTE_MS) - MINUTES;
    this.#minutes = this.#minutes.filter(({ minute }) => minute > oldest);
    const sum = (count: 'submitted' | 'rejected' | 'failed') =>
      this.#minutes.reduce((total, minute) => total + minute[count], 0);
    const error = this.#lastError;
    return {
      submitted: sum('submitted'),
      rejected: sum('rejected'),
      failed: sum('failed'),
      lastError: error?.words ?? null,
      lastErrorAt: error ? new Date(error.at) : null,
      lastSuccessAt: this.#lastSuccessAt === undefined ? null : new Date(this.#lastSuccessAt),
    };
  }

  #minuteOf(at: number) {
    const minute = Math.floor(at / MINUTE_MS);
    const last = this.#minutes.at(-1);
    if (last?.minute === minute) return last;
    const next = { minute, submitted: 0, rejected: 0, failed: 0 };
    this.#minutes = [...this.#minutes.slice(-MINUTES), next];
    return next;
  }
}
