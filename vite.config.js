import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { defineConfig } from 'vite';

// Whoever builds: a test's or a developer's own value would put the development build of React in.
process.env.NODE_ENV = 'production';

const COMPRESSIBLE = /\.(html|js|css|svg)$/;

/** Every text file beside itself as `.br` and `.gz`, so that no request waits for a compressor. */
const precompress = {
  name: 'precompress',
  writeBundle({ dir }, bundle) {
    // The page last: what it names is there in every encoding before it is.
    const names = Object.keys(bundle).filter((name) => COMPRESSIBLE.test(name));
    for (const name of names.sort((a, b) => Number(a.endsWith('.html')) - Number(b.endsWith('.html')))) {
      const bytes = readFileSync(join(dir, name));
      writeFileSync(join(dir, `${name}.br`), brotliCompressSync(bytes));
      writeFileSync(join(dir, `${name}.gz`), gzipSync(bytes, { level: 9 }));
    }
  },
};

const ASSETS = 'assets';
/** No tab stays open across upgrades for longer. */
const MAX_AGE_MS = 30 * 24 * 3_600_000;

/** Takes away files of builds so long ago that nobody has them open any more. */
const forgetOldBuilds = {
  name: 'forget-old-builds',
  writeBundle({ dir }, bundle) {
    for (const file of readdirSync(join(dir, ASSETS))) {
      const name = `${ASSETS}/${file}`;
      const isCurrent = name.replace(/\.(br|gz)$/, '') in bundle;
      if (!isCurrent && statSync(join(dir, name)).mtimeMs < Date.now() - MAX_AGE_MS) rmSync(join(dir, name));
    }
  },
};

/** The web console: src/console becomes dist/console, which src/rest/console.ts serves. */
export default defineConfig({
  root: 'src/console',
  base: '/console/',
  publicDir: false,
  build: {
    outDir: '../../dist/console',
    // A tab that is open across an upgrade goes on with the files of its own version.
    emptyOutDir: false,
    // Nothing stands in the page itself: its policy lets in what comes from a file of this gateway.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rolldownOptions: {
      checks: { pluginTimings: false },
      // "use client" speaks to frameworks that render on a server.
      onLog: (level, log, handle) => log.code !== 'MODULE_LEVEL_DIRECTIVE' && handle(level, log),
    },
  },
  plugins: [precompress, forgetOldBuilds],
});
