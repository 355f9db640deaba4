import { EventsResource } from './resources.generated.ts';
import { wait } from './retries.ts';
import type { GatewayEvent } from './types.generated.ts';

export interface FollowOptions {
  /**
   * The cursor after which to start, or `latest` for new events only. By default it starts at the oldest event, up to
   * 30 days back.
   */
  readonly after?: string | undefined;
  /**
   * Milliseconds between requests while there are no new events. Default: 2,000. Each request counts towards the rate
   * limit of the API key.
   */
  readonly pollIntervalMs?: number | undefined;
  /** Ends the iteration without an error. */
  readonly signal?: AbortSignal | undefined;
}

export interface FollowedEvent {
  readonly event: GatewayEvent;
  /**
   * Store it after you have handled the event, and pass it as `after` to continue from here. Of several events in one
   * response, only the last one advances the cursor. After a crash the others come again.
   */
  readonly cursor: string;
}

const POLL_INTERVAL_MS = 2_000;
const SLICE = 100;

/** The events of the account, in order and without gaps (R33). */
export class EventFeed extends EventsResource {
  /** Yields the stored events, then each new event, until `signal` aborts. Throws `GatewayError`. */
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

/** Ignores the error of a request that failed because `signal` aborted it. Other errors are thrown. */
function ended(signal: AbortSignal | undefined) {
  return (error: unknown): undefined => {
    if (!signal?.aborted) throw error;
  };
}
