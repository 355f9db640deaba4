/** Stops what the global setups started, and removes their files. */
export default async function globalTeardown(): Promise<void> {
  for (const stop of globalThis.stopTestPostgres?.splice(0) ?? []) await stop();
}
