/** GraphQL uses null where the domain uses undefined: both mean that the value is absent. */
type Given<T> = { [Key in keyof T]: Exclude<T[Key], null> };

/** The members of an input that are present, also in nested inputs. */
export function given<T extends object>(input: T | null | undefined): Given<T> {
  return Object.fromEntries(
    Object.entries(input ?? {}).flatMap(([name, value]) =>
      value === null || value === undefined ? [] : [[name, isInput(value) ? given(value) : value]],
    ),
  ) as Given<T>;
}

/** Inputs are instances of their classes; JSON values are plain objects, in which null is a value. */
function isInput(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false;
  const prototype = Object.getPrototypeOf(value);
  return (
    prototype !== null && prototype !== Object.prototype && !Array.isArray(value) && !(value instanceof Date)
  );
}
