import { EventsResource } from './resources.generated.ts';
import { wait } from './retries.ts';
import type { GatewayEvent } from './types.generated.ts';

export interface FollowOptions {
  /** The cursor to go on from, or `latest` for what happens from now on; the oldest event, 30 days back, when absent. */
  readonly after?: string | undefined;
  /** Milliseconds between questions while nothing happens; 2,000 when absent. Each counts on the key's rate limit. */
  readonly pollIntervalMs?: number | undefined;
  /** Ends the walk; it then returns. */
  readonly signal?: AbortSignal | undefined;
}

export interface FollowedEvent {
  readonly event: GatewayEvent;
  /**
   * Keep it once you have handled the event, and pass it as `after` to go on from here. Where events arrive together it
   * moves with the last of them: after a crash those come again.
   */
  readonly cursor: string;
}

const POLL_INTERVAL_MS = 2_000;
const SLICE = 100;

/** The account's events in their order, without gaps (R33). */
export class EventFeed extends EventsResource {
  /** Each event, and then each new one as it happens, until the signal aborts. Throws `GatewayError`. */
  async *follow(options: FollowOptions = {}): AsyncGenerator<FollowedEvent, void, undefined> {
    const { pollIntervalMs = POLL_INTERVAL_MS, signal } = options;
    let { after } = options;
    while (!signal?.aborted) {
      const query = { limit: SLICE, ...(after === undefined ? {} : { after }) };
      const slice = await this.list(query, { signal }).catch(ended(signal));
      if (!slice) return;
      for (const [index, event] of slice.data.entries()) {
        const isLast = index === slice.data.length - 1;
        yield { event, cursor: isLast ? slice.cursor : (after ?? '0') };
      }
      after = slice.cursor;
      if (!slice.hasMore) await wait(pollIntervalMs, signal).catch(ended(signal));
    }
  }
}

/** That the caller ended it is no error. */
function ended(signal: AbortSignal | undefined) {
  return (error: unknown): undefined => {
    if (!signal?.aborted) throw error;
  };
}
