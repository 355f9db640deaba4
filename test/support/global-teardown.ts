/** Stops what global-setup.ts started, and removes its files. */
export default async function globalTeardown(): Promise<void> {
  await globalThis.stopTestPostgres?.();
}
