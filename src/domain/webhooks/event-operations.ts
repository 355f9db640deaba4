import { ACCOUNT_ROLES, visibilityOf } from '../caller.ts';
import type { Dependencies } from '../dependencies.ts';
import { validationError } from '../errors.ts';
import { operation } from '../operation.ts';
import { SLICE_MAX } from '../paging.ts';
import type { RecordedEvent } from './event.ts';
import { EVENT_CATALOG } from './event-catalog.ts';
import { READ_WEBHOOKS } from './webhook-operations.ts';

/** A part of an account's event feed (R33). */
export interface FeedSlice {
  /** The events in feed order. Each `body` is the envelope exactly as it was delivered, byte for byte. */
  readonly events: readonly RecordedEvent[];
  /** The number of the last event in this slice, as text. If the slice is empty, the cursor of the request. */
  readonly cursor: string;
  readonly hasMore: boolean;
}

/** May be given instead of a cursor. It stands for the end of the feed. */
const FEED_END = 'latest';

/** Operations on the event feed of an account. */
export function eventOperations({ stores, transport }: Dependencies) {
  return {
    /** Returns every event type with a sample (R28). */
    types: operation('event.types', READ_WEBHOOKS, async () => EVENT_CATALOG),

    /** Returns the URL of the gateway's own webhook receiver, which is for trials. Null in production. */
    simulatorUrl: operation(
      'event.simulatorUrl',
      { roles: ACCOUNT_ROLES, operator: 'reading' },
      async (_caller, _input: Record<string, never>): Promise<string | null> => transport.simulatorUrl,
    ),

    /**
     * Returns the account's events after a cursor, or from the oldest event on. A sandbox key sees sandbox events.
     * Events are numbered without gaps in the order of their commits. So a new event never appears before a cursor
     * (R33). With `latest`, the answer has no events and the cursor of the newest one.
     */
    feed: operation(
      'event.feed',
      { scopes: ['READ_MESSAGES'], roles: ACCOUNT_ROLES },
      async (
        caller,
        input: { readonly after?: string | undefined; readonly limit: number },
      ): Promise<FeedSlice> => {
        const visibility = visibilityOf(caller);
        if (input.after === FEED_END) {
          const cursor = String(await stores.events.lastNumber(visibility.accountId));
          return { events: [], cursor, hasMore: false };
        }
        if (!Number.isInteger(input.limit) || input.limit < 1 || input.limit > SLICE_MAX) {
          throw validationError([
            { path: 'limit', message: `must be a whole number from 1 to ${SLICE_MAX}` },
          ]);
        }
        const after = input.after ?? '0';
        if (!/^[0-9]{1,15}$/.test(after)) {
          throw validationError([
            { path: 'after', message: `must be a cursor that this feed gave, or ${FEED_END}` },
          ]);
        }
        const found = await stores.events.after(visibility, Number(after), input.limit + 1);
        const events = found.slice(0, input.limit);
        const cursor = String(events.at(-1)?.seq ?? Number(after));
        return { events, cursor, hasMore: found.length > input.limit };
      },
    ),
  };
}
