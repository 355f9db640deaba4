import { useEffect, useEffectEvent } from 'react';

/** Elements in which a letter is input or chooses an item. */
const TAKES_LETTERS = 'input, textarea, select, [contenteditable], [role="menu"], [role="listbox"]';

/**
 * Runs the action of a pressed key, such as `?`. A key does nothing while somebody types, while a dialog is open, and
 * together with Ctrl, Alt or ⌘. `mod+k` is a letter with Ctrl or ⌘ and works everywhere.
 */
export function useShortcuts(actions: Readonly<Record<string, () => void>>): void {
  const onKey = useEffectEvent((event: KeyboardEvent) => {
    // On many keyboards `[` needs AltGr, which Windows reports as Ctrl and Alt.
    const isAltGr = event.getModifierState('AltGraph');
    const isMod = (event.metaKey || event.ctrlKey) && !isAltGr;
    const action = actions[isMod ? `mod+${event.key.toLowerCase()}` : event.key];
    if (!action || event.repeat) return;
    if (!isMod && ((event.altKey && !isAltGr) || isTaken(event.target))) return;
    event.preventDefault();
    action();
  });
  useEffect(() => {
    const listen = (event: KeyboardEvent) => onKey(event);
    document.addEventListener('keydown', listen);
    return () => document.removeEventListener('keydown', listen);
  }, []);
}

function isTaken(target: EventTarget | null): boolean {
  if (document.querySelector('dialog[open]')) return true;
  return target instanceof Element && target.closest(TAKES_LETTERS) !== null;
}

/** The name of the key that goes with letters, on this machine. */
export const MOD = navigator.userAgent.includes('Mac') ? '⌘' : 'Ctrl';
