import { useSyncExternalStore } from 'react';

const STORED = 'console-theme';
export type Theme = 'light' | 'dark';

const listeners = new Set<() => void>();
const system = matchMedia('(prefers-color-scheme: dark)');

function current(): Theme {
  const chosen = document.documentElement.dataset.theme;
  if (chosen === 'light' || chosen === 'dark') return chosen;
  return system.matches ? 'dark' : 'light';
}

/** Applies the theme that was chosen in this browser. Without a choice, the theme of the operating system applies. */
export function restoreTheme(): void {
  const chosen = localStorage.getItem(STORED);
  if (chosen) document.documentElement.dataset.theme = chosen;
}

function choose(theme: Theme): void {
  document.documentElement.dataset.theme = theme;
  localStorage.setItem(STORED, theme);
  for (const listener of listeners) listener();
}

/** Returns the current theme and a function that switches it. */
export function useTheme(): { readonly theme: Theme; readonly toggle: () => void } {
  const theme = useSyncExternalStore(subscribe, current);
  return { theme, toggle: () => choose(theme === 'dark' ? 'light' : 'dark') };
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  system.addEventListener('change', listener);
  return () => {
    listeners.delete(listener);
    system.removeEventListener('change', listener);
  };
}
