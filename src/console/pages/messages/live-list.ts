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

/** Changes are shown together so often at the most, however fast they come. */
const SHOW_EVERY_MS = 250;
/** More new messages than these are not counted. */
export const MOST_COUNTED = 999;
/** A status only moves forward. */
const RANK = { PENDING: 0, SENT: 1, DELIVERED: 2, FAILED: 2 } as const;

/**
 * The rows of a page as they are now, and how many messages have come since it was asked for: they are counted, not
 * shown, so that no row jumps away from who reads it.
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
    page.isFirst &&
    !ids.has(id) &&
    createdAt >= newest &&
    (filter.status === undefined || filter.status === status);

  const show = useEffectEvent(() => {
    timer.current = undefined;
    const changed = [...waiting.current];
    waiting.current.clear();
    setKnown((before) => {
      const relevant = [...before, ...changed].filter(([id, change]) => ids.has(id) || isNew(change));
      return new Map(relevant.slice(-(MOST_COUNTED + ids.size)));
    });
    // There is no row that could jump.
    if (page.isLoaded && rows.length === 0 && page.isFirst) void refetch(Messages, MessagesCount);
  });
  useEffect(() => () => clearTimeout(timer.current), []);
  // Without the status: one that leaves it must still be told of, as it stays on the page.
  const { status: _, ...told } = filter;
  useLive(MessagesLive, { filter: told }, ({ messageUpdated }) => {
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
