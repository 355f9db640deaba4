/** GraphQL uses null where the domain uses undefined. Both mean that the value is absent. */
type Given<T> = { [Key in keyof T]: Exclude<T[Key], null> };

/** Returns the fields of an input that are present, also of nested inputs. */
export function given<T extends object>(input: T | null | undefined): Given<T> {
  return Object.fromEntries(
    Object.entries(input ?? {}).flatMap(([name, value]) =>
      value === null || value === undefined ? [] : [[name, isInput(value) ? given(value) : value]],
    ),
  ) as Given<T>;
}

/**
 * True for the value of an input type. It is an instance of a class, whereas JSON values are plain objects. In JSON
 * values, null is a value.
 */
function isInput(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false;
  const prototype = Object.getPrototypeOf(value);
  return (
    prototype !== null && prototype !== Object.prototype && !Array.isArray(value) && !(value instanceof Date)
  );
}
