/** Stops what the global setups started, and removes their files. */
export default async function globalTeardown(): Promise<void> {
  for (const stop of globalThis.stopTestRun?.splice(0) ?? []) await stop();
}
