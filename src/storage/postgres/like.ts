/** Returns the LIKE pattern that finds `part` literally anywhere in a text. */
export function containing(part: string): string {
  return `%${part.replace(/[\\%_]/g, '\\$&')}%`;
}
