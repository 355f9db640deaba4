/** The LIKE pattern for text that contains `part` literally. */
export function containing(part: string): string {
  return `%${part.replace(/[\\%_]/g, '\\$&')}%`;
}
