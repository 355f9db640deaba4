/** GraphQL says null where the domain says undefined: both mean that nothing was given. */
type Given<T> = { [Key in keyof T]: Exclude<T[Key], null> };

/** The members of an input that were given; inputs inside it too. */
export function given<T extends object>(input: T | null | undefined): Given<T> {
  return Object.fromEntries(
    Object.entries(input ?? {}).flatMap(([name, value]) =>
      value === null || value === undefined ? [] : [[name, isInput(value) ? given(value) : value]],
    ),
  ) as Given<T>;
}

/** Inputs are instances of their classes; JSON is plain objects, in which null means null. */
function isInput(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false;
  const prototype = Object.getPrototypeOf(value);
  return (
    prototype !== null && prototype !== Object.prototype && !Array.isArray(value) && !(value instanceof Date)
  );
}
