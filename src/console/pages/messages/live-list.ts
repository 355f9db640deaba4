import { useEffect, useEffectEvent, useRef, useState } from 'react';
import { useLive } from '../../lib/live.ts';
import { refetch } from '../../lib/queries.ts';
import {
  type MessageFilter,
  type MessageRowFragment,
  Messages,
  MessagesCount,
  MessagesLive,
} from './messages.generated.ts';

type Row = MessageRowFragment;
type Change = Pick<Row, 'id' | 'status' | 'createdAt'>;

/** Interval at which live changes are rendered, in ms. Changes of the same interval are rendered together. */
const SHOW_EVERY_MS = 250;
/** The counter of new messages stops at this number. */
export const MOST_COUNTED = 999;
/** Order of the statuses. A live change applies only if its rank is higher, because a status only moves forward. */
const RANK = { PENDING: 0, SENT: 1, DELIVERED: 2, FAILED: 2 } as const;

/** True if a new message may be in the list. One that fails for some recipients only is seen after a reload. */
function isOfStatus(status: Row['status'], { status: asked, recipientStatus }: MessageFilter): boolean {
  const wanted = recipientStatus ? [recipientStatus] : asked;
  return !wanted || wanted.includes(status);
}

/**
 * Returns the rows of a page with live changes, and the number of messages that arrived since the page was loaded. New
 * messages are only counted, not inserted: rows must not move while somebody reads them.
 */
export function useLiveRows(
  rows: readonly Row[],
  filter: MessageFilter,
  page: { readonly isFirst: boolean; readonly isLoaded: boolean },
) {
  const [known, setKnown] = useState<ReadonlyMap<string, Change>>(new Map());
  const waiting = useRef(new Map<string, Change>());
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const ids = new Set(rows.map(({ id }) => id));
  const newest = rows[0]?.createdAt ?? '';
  const isNew = ({ id, createdAt, status }: Change) =>
    page.isFirst && !ids.has(id) && createdAt >= newest && isOfStatus(status, filter);

  const show = useEffectEvent(() => {
    timer.current = undefined;
    const changed = [...waiting.current];
    waiting.current.clear();
    setKnown((before) => {
      const relevant = [...before, ...changed].filter(([id, change]) => ids.has(id) || isNew(change));
      return new Map(relevant.slice(-(MOST_COUNTED + ids.size)));
    });
    // An empty list has no rows that could move, so new messages are loaded at once.
    if (page.isLoaded && rows.length === 0 && page.isFirst) void refetch(Messages, MessagesCount);
  });
  useEffect(() => () => clearTimeout(timer.current), []);
  // The subscription has no status filter: a message that changes to another status stays on the page and must be
  // updated.
  const { status: _, recipientStatus: __, ...told } = filter;
  useLive(MessagesLive, { filter: told }, [Messages], ({ messageUpdated }) => {
    waiting.current.set(messageUpdated.id, messageUpdated);
    timer.current ??= setTimeout(() => show(), SHOW_EVERY_MS);
  });
  return {
    rows: rows.map((row) => {
      const live = known.get(row.id);
      return live && RANK[live.status] > RANK[row.status] ? { ...row, status: live.status } : row;
    }),
    newCount: [...known.values()].filter(isNew).length,
  };
}
