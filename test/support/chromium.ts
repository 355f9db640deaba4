import chromium from '@sparticuz/chromium';
import { type Browser, chromium as playwright } from 'playwright-core';

/** Starts the packaged Chromium, which is a program for Linux on x64. */
export async function launchChromium(): Promise<Browser> {
  return playwright.launch({
    executablePath: await chromium.executablePath(),
    // In a single process all windows share their cookies.
    args: [...chromium.args.filter((flag) => flag !== '--single-process'), '--no-sandbox'],
  });
}
