import { type RefObject, useEffect, useRef } from 'react';
import { useLocation, useSearch } from 'wouter';
import { DRAWERS } from './environment.ts';

/** Where a person was on a page: how far it was scrolled, and the link of the page that had the focus. */
interface Place {
  readonly top: number;
  readonly link: string | null;
}

/** How long a page that is opened again may take to show its rows, in ms. */
const WAIT_MS = 10_000;
/** Keeps the place of the page that the tab leaves or reloads. */
const STORED = 'console-place';
/** What a person does to move on a page. It ends the wait, so that the page does not jump under their hands. */
const MOVES = ['wheel', 'touchstart', 'pointerdown', 'keydown'] as const;

const places = new Map<string, Place>();
let shown = keyHere();
/** Whether the page on the screen was opened by the back or forward button, or by a reload. */
let isReturn = false;

/** The page of a URL. An open drawer does not count: closing it leaves the page where it is. */
function keyOf(path: string, search: string, ...without: readonly string[]): string {
  const params = new URLSearchParams(search);
  for (const name of [...DRAWERS, ...without]) params.delete(name);
  return `${path}?${params}`;
}

function keyHere(): string {
  return keyOf(location.pathname, location.search);
}

function placeNow(): Place {
  const link = document.activeElement?.closest('main a');
  return { top: scrollY, link: link?.getAttribute('href') ?? null };
}

function moved(isBack: boolean): void {
  places.set(shown, placeNow());
  isReturn = isBack;
  shown = keyHere();
}

// The browser would scroll before the rows of a list are there.
history.scrollRestoration = 'manual';
addEventListener('popstate', () => moved(true));
// The router dispatches these two.
addEventListener('pushState', () => moved(false));
addEventListener('replaceState', () => {
  if (keyHere() !== shown) isReturn = false;
  shown = keyHere();
});
addEventListener('pagehide', () => {
  try {
    sessionStorage.setItem(STORED, JSON.stringify([shown, placeNow()]));
  } catch {
    // The browser keeps nothing of this site: the page starts at its top then.
  }
});
readStored();

function readStored(): void {
  const [entry] = performance.getEntriesByType('navigation');
  if (!(entry instanceof PerformanceNavigationTiming) || entry.type === 'navigate') return;
  try {
    const [key, { top, link }] = JSON.parse(sessionStorage.getItem(STORED) ?? '');
    places.set(String(key), { top: Number(top), link: link === null ? null : String(link) });
    isReturn = true;
  } catch {
    // Nothing is kept, or something else. The page starts at its top.
  }
}

/**
 * Puts each page where it should start. A new page, and the next page of a list, starts at its top with the focus, so
 * that screen readers start there too. The browser's back and forward buttons return to the place and to the focused
 * link.
 */
export function usePlace(main: RefObject<HTMLElement | null>): void {
  const [path] = useLocation();
  const search = useSearch();
  const key = keyOf(path, search);
  /** The list without its page. A filter that changes it leaves the focus in the filter. */
  const list = keyOf(path, search, 'after');
  const before = useRef<{ key: string; path: string; list: string }>(undefined);
  useEffect(() => {
    const { current } = before;
    before.current = { key, path, list };
    if (!main.current || current?.key === key) return;
    if (isReturn) {
      const place = places.get(keyHere());
      if (place) return returnTo(place, main.current);
    }
    if (!current || (current.path === path && current.list !== list)) return;
    scrollTo(0, 0);
    // A page may lead on after its content has come. A menu that was opened meanwhile would close without the focus.
    if (document.activeElement?.closest('[role="menu"]')) return;
    // The page is taller than the window: the focus would scroll past its top.
    main.current.focus({ preventScroll: true });
  }, [main, key, path, list]);
}

/** Waits for the rows of a page, then scrolls and sets the focus. Returns the function that ends the wait. */
function returnTo({ top, link }: Place, main: HTMLElement): () => void {
  const isThere = () => {
    scrollTo(0, top);
    const target =
      link === null
        ? main
        : [...main.querySelectorAll('a')].find((each) => each.getAttribute('href') === link);
    if (!target || (link === null && scrollY < top - 1)) return false;
    target.focus({ preventScroll: true });
    return true;
  };
  if (isThere()) return () => undefined;
  main.focus({ preventScroll: true });
  const observer = new MutationObserver(() => isThere() && end());
  const timer = setTimeout(() => end(), WAIT_MS);
  function end() {
    observer.disconnect();
    clearTimeout(timer);
    for (const each of MOVES) removeEventListener(each, end);
  }
  observer.observe(main, { childList: true, subtree: true });
  for (const each of MOVES) addEventListener(each, end, { once: true, passive: true });
  return end;
}
