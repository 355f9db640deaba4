import { useEffect, useEffectEvent, useRef, useState } from 'react';
import { useLive } from '../../lib/live.ts';
import { refetch } from '../../lib/queries.ts';
import { MessageDeliveries, MessageDetail, MessageHistory, MessageLive } from './messages.generated.ts';

/** Minimum interval of refetches, in ms, because a message to many recipients changes often. */
const REFETCH_EVERY_MS = 1_000;
/** Events reach webhooks a moment after the message changed. */
const SETTLES_IN_MS = 20_000;

/**
 * Keeps the page of a message up to date. Returns true while its webhook deliveries may still change although the
 * message does not.
 */
export function useLiveMessage(id: string): boolean {
  const [isSettling, setIsSettling] = useState(true);
  const timers = useRef<{ next?: ReturnType<typeof setTimeout>; settled?: ReturnType<typeof setTimeout> }>(
    {},
  );
  const lastMs = useRef(0);
  const ask = useEffectEvent(() => {
    delete timers.current.next;
    lastMs.current = Date.now();
    void refetch(MessageDetail, MessageHistory, MessageDeliveries);
  });
  const settleLater = useEffectEvent(() => {
    setIsSettling(true);
    clearTimeout(timers.current.settled);
    timers.current.settled = setTimeout(() => setIsSettling(false), SETTLES_IN_MS);
  });
  useEffect(() => {
    const running = timers.current;
    settleLater();
    return () => {
      clearTimeout(running.next);
      clearTimeout(running.settled);
      delete running.next;
    };
  }, []);
  useLive(MessageLive, { id }, () => {
    settleLater();
    const waitMs = Math.max(0, lastMs.current + REFETCH_EVERY_MS - Date.now());
    timers.current.next ??= setTimeout(() => ask(), waitMs);
  });
  return isSettling;
}
