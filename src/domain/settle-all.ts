/**
 * What all of these resolve with, once all have ended; throws the first failure then. Unlike `Promise.all` it leaves
 * nothing going on: what belongs to a transaction must not outlive it.
 */
export async function settleAll<T extends readonly unknown[]>(
  parts: readonly [...{ [Index in keyof T]: Promise<T[Index]> }],
): Promise<T> {
  await Promise.allSettled(parts);
  return (await Promise.all(parts)) as unknown as T;
}
