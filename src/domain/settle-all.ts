/**
 * Like `Promise.all`, but waits for every promise before it throws the first failure. Inside a transaction no query
 * may outlive it.
 */
export async function settleAll<T extends readonly unknown[]>(
  parts: readonly [...{ [Index in keyof T]: Promise<T[Index]> }],
): Promise<T> {
  await Promise.allSettled(parts);
  return (await Promise.all(parts)) as unknown as T;
}
