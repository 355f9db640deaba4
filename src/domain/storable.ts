/**
 * Text of others as PostgreSQL keeps it: U+FFFD stands for U+0000 and for halves of characters, and what goes beyond
 * `maxLength` UTF-16 code units is cut off. What was the same stays the same.
 */
export function storable(text: string, maxLength = text.length): string {
  return text.slice(0, maxLength).toWellFormed().replaceAll('\0', '\uFFFD');
}
