import { useEffect, useEffectEvent, useRef, useState } from 'react';
import { useLive } from '../../lib/live.ts';
import { refetch } from '../../lib/queries.ts';
import {
  MessageDeliveries,
  MessageDetail,
  MessageHistory,
  MessageLive,
  MessageReason,
} from './messages.generated.ts';

/** Minimum time between two refetches, in ms. A message to many recipients changes often. */
const REFETCH_EVERY_MS = 1_000;
/** How long the webhook deliveries are refetched after a message changed, in ms. Webhooks receive the events later. */
const SETTLES_IN_MS = 20_000;
const OF_MESSAGE = [MessageDetail, MessageReason, MessageHistory, MessageDeliveries];

/**
 * Refetches the page of a message when the message changes. Returns true while its webhook deliveries may still change
 * after the message's last change.
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
    void refetch(...OF_MESSAGE);
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
  useLive(MessageLive, { id }, OF_MESSAGE, () => {
    settleLater();
    const waitMs = Math.max(0, lastMs.current + REFETCH_EVERY_MS - Date.now());
    timers.current.next ??= setTimeout(() => ask(), waitMs);
  });
  return isSettling;
}
