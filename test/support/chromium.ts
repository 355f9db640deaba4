import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rename, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { type Browser, chromium as playwright } from 'playwright-core';

/** The package's main file, in its directory `build/cjs`. */
const PACKAGED = createRequire(import.meta.url).resolve('@sparticuz/chromium');
const UNPACK = `require(${JSON.stringify(PACKAGED)}).executablePath()`;

/** Starts the packaged Chromium, which runs on Linux x64 only. */
export async function launchChromium(): Promise<Browser> {
  return playwright.launch({
    executablePath: await unpackedChromium(),
    // The package's own flags emulate a graphics card, which takes 2.5 times the CPU time. So they are not used.
    args: ['--disable-gpu'],
    timeout: 120_000,
  });
}

/**
 * Returns the path of the program. The package unpacks it into the temporary directory. It uses a file that already
 * exists there, even if another worker still writes it. So unpack into a new directory, and rename it when it is
 * complete.
 */
async function unpackedChromium(): Promise<string> {
  const { version } = JSON.parse(readFileSync(join(dirname(PACKAGED), '../../package.json'), 'utf8'));
  const place = join(tmpdir(), `gateway-chromium-${version}`);
  if (!existsSync(place)) {
    const own = await mkdtemp(`${place}-`);
    await promisify(execFile)(process.execPath, ['-e', UNPACK], { env: { TMPDIR: own } });
    // Another worker was faster. Use its directory.
    await rename(own, place).catch(() => rm(own, { recursive: true }));
  }
  return join(place, 'chromium');
}
