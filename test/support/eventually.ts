/**
 * Looks again and again until `look` gives something other than undefined or false; fails with the last error after
 * `timeoutMs`. The limit is for what never comes true, not for how fast a machine is: a busy one is several times
 * slower than an idle one.
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
