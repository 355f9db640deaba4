/**
 * Like `Promise.all`, but waits for every promise before it throws the first error. Use it in transactions, because no
 * query may run after its transaction has ended.
 */
export async function settleAll<T extends readonly unknown[]>(
  parts: readonly [...{ [Index in keyof T]: Promise<T[Index]> }],
): Promise<T> {
  await Promise.allSettled(parts);
  return (await Promise.all(parts)) as unknown as T;
}
