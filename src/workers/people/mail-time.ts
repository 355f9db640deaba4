/** Returns a text such as `2026-11-24 18:30 UTC`. */
export const timeOf = (at: Date): string => `${at.toISOString().slice(0, 16).replace('T', ' ')} UTC`;
