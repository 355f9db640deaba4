/** GraphQL says null where the domain says undefined: both mean that nothing was given. */
export type Given<T> = { [Key in keyof T]: Exclude<T[Key], null> };

/** The members of an input that were given. */
export function given<T extends object>(input: T | null | undefined): Given<T> {
  return Object.fromEntries(
    Object.entries(input ?? {}).filter(([, value]) => value !== null && value !== undefined),
  ) as Given<T>;
}
