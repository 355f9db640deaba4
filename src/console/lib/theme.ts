import { useSyncExternalStore } from 'react';

const STORED = 'console-theme';
export const THEMES = ['system', 'light', 'dark'] as const;
export type Theme = (typeof THEMES)[number];

const listeners = new Set<() => void>();

function current(): Theme {
  const chosen = document.documentElement.dataset.theme;
  return chosen === 'light' || chosen === 'dark' ? chosen : 'system';
}

/** Applies the theme that was chosen in this browser. Without a choice, the theme of the operating system applies. */
export function restoreTheme(): void {
  const chosen = localStorage.getItem(STORED);
  if (chosen) document.documentElement.dataset.theme = chosen;
}

function choose(theme: Theme): void {
  if (theme === 'system') {
    delete document.documentElement.dataset.theme;
    localStorage.removeItem(STORED);
  } else {
    document.documentElement.dataset.theme = theme;
    localStorage.setItem(STORED, theme);
  }
  for (const listener of listeners) listener();
}

/** Returns the chosen theme and a function that changes it. */
export function useTheme(): { readonly theme: Theme; readonly choose: (theme: Theme) => void } {
  return { theme: useSyncExternalStore(subscribe, current), choose };
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
