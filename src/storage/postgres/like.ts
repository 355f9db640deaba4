/** The LIKE pattern for text that holds `part`, taken literally. */
export function containing(part: string): string {
  return `%${part.replace(/[\\%_]/g, '\\$&')}%`;
}
