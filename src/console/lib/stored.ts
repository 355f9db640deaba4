import { useSyncExternalStore } from 'react';

const listeners = new Set<() => void>();
const parsed = new Map<string, { readonly text: string | null; readonly value: unknown }>();

/**
 * Keeps a value in this browser, as JSON under `name`. `read` checks what is stored, which may be of an older version,
 * and gets null if nothing is stored. Returns the value and a function that stores another one.
 */
export function useStored<Value>(
  name: string,
  read: (stored: unknown) => Value,
): readonly [Value, (value: Value) => void] {
  const value = useSyncExternalStore(subscribe, () => current(name, read));
  return [
    value,
    (next) => {
      localStorage.setItem(name, JSON.stringify(next));
      for (const listener of listeners) listener();
    },
  ];
}

/** Returns the same object until the stored text changes, as `useSyncExternalStore` needs it. */
function current<Value>(name: string, read: (stored: unknown) => Value): Value {
  const text = localStorage.getItem(name);
  const known = parsed.get(name);
  if (known && known.text === text) return known.value as Value;
  const value = read(parse(text));
  parsed.set(name, { text, value });
  return value;
}

function parse(text: string | null): unknown {
  try {
    return text === null ? null : JSON.parse(text);
  } catch {
    return null;
  }
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
