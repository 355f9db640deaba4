/**
 * Calls `look` until it returns something other than undefined or false. Fails with its last error after `timeoutMs`.
 * The limit ends waits for what never happens; it asserts no speed, because a busy machine is several times slower.
 */
export async function eventually<T>(
  look: () => Promise<T | undefined | false> | T | undefined | false,
  timeoutMs = 60_000,
): Promise<T> {
  const deadline = performance.now() + timeoutMs;
  let lastError: unknown = new Error('it did not become true');
  while (performance.now() < deadline) {
    try {
      const found = await look();
      if (found !== undefined && found !== false) return found;
    } catch (error) {
      lastError = error;
    }
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw lastError;
}
