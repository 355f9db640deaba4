/**
 * Calls `look` until it returns something other than undefined or false, and returns that. After `timeoutMs` it throws
 * the last error. The time limit ends a wait for something that never happens. It does not test speed, because a busy
 * machine is several times slower.
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
