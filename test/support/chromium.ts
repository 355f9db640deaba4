import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rename, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { type Browser, chromium as playwright } from 'playwright-core';

/** The package's entry, in its `build/cjs`. */
const PACKAGED = createRequire(import.meta.url).resolve('@sparticuz/chromium');
const UNPACK = `require(${JSON.stringify(PACKAGED)}).executablePath()`;

/** Starts the packaged Chromium, which is a program for Linux on x64. */
export async function launchChromium(): Promise<Browser> {
  return playwright.launch({
    executablePath: await unpackedChromium(),
    // The package's own flags are not used: they emulate a graphics card, which takes 2.5 times the CPU time.
    args: ['--disable-gpu'],
    timeout: 120_000,
  });
}

/**
 * The path of the program. The package unpacks into the temporary directory and trusts a file that is already there,
 * even if another worker still writes it or was killed. So it unpacks into a new directory here, which gets its final
 * name when it is complete.
 */
async function unpackedChromium(): Promise<string> {
  const { version } = JSON.parse(readFileSync(join(dirname(PACKAGED), '../../package.json'), 'utf8'));
  const place = join(tmpdir(), `gateway-chromium-${version}`);
  if (!existsSync(place)) {
    const own = await mkdtemp(`${place}-`);
    await promisify(execFile)(process.execPath, ['-e', UNPACK], { env: { TMPDIR: own } });
    // Another worker has already put the program there.
    await rename(own, place).catch(() => rm(own, { recursive: true }));
  }
  return join(place, 'chromium');
}
