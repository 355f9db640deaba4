/** Returns `text` with at most `length` characters, without its middle if it is longer. */
export function shortened(text: string, length: number): string {
  if (text.length <= length) return text;
  const kept = length - 1;
  return `${text.slice(0, Math.ceil(kept / 2))}…${text.slice(text.length - Math.floor(kept / 2))}`;
}
