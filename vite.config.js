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

const FONTS = ['inter', 'jetbrains-mono'];

/** The console's fonts are under the SIL Open Font License, which goes with them. */
const fontLicenses = {
  name: 'font-licenses',
  generateBundle() {
    for (const font of FONTS) {
      const source = readFileSync(`node_modules/@fontsource-variable/${font}/LICENSE`);
      this.emitFile({ type: 'asset', fileName: `${ASSETS}/${font}-license.txt`, source });
    }
  },
};

/** GraphiQL's fonts are data in its styles, which the page's policy refuses. The system's are used. */
const withoutFonts = {
  name: 'without-fonts',
  enforce: 'pre',
  transform: (code, id) => (id.endsWith('.css') ? code.replaceAll(/@font-face\s*{[^}]*}/g, '') : undefined),
};

const APPS = {
  console: { base: '/console/', plugins: [fontLicenses], alias: {} },
  explorer: {
    base: '/graphql/',
    plugins: [withoutFonts],
    alias: { 'react-style-singleton': join(import.meta.dirname, 'src/explorer/no-injected-styles.ts') },
  },
};

/**
 * The web console and the GraphQL explorer: src/console becomes dist/console, and `--mode explorer` makes dist/explorer of
 * src/explorer. src/rest/pages serves both.
 */
export default defineConfig(({ mode }) => ({
  root: mode in APPS ? `src/${mode}` : 'src/console',
  base: (APPS[mode] ?? APPS.console).base,
  publicDir: false,
  resolve: { alias: (APPS[mode] ?? APPS.console).alias },
  build: {
    outDir: `../../dist/${mode in APPS ? mode : 'console'}`,
    // A tab that is open across an upgrade goes on with the files of its own version.
    emptyOutDir: false,
    // Nothing stands in the page itself: its policy lets in what comes from a file of this gateway.
    assetsInlineLimit: 0,
    // GraphiQL is one piece.
    chunkSizeWarningLimit: mode === 'explorer' ? 1_000 : 500,
    modulePreload: { polyfill: false },
    rolldownOptions: {
      output: {
        // What several pages share is one file. As files of a kilobyte each, they took a page's time on a slow line.
        codeSplitting: { groups: [{ name: 'shared', test: /src\/console\/(ui|lib)\//, minShareCount: 3 }] },
      },
      checks: { pluginTimings: false },
      // "use client" speaks to frameworks that render on a server.
      onLog: (level, log, handle) => log.code !== 'MODULE_LEVEL_DIRECTIVE' && handle(level, log),
    },
  },
  plugins: [...(APPS[mode] ?? APPS.console).plugins, precompress, forgetOldBuilds],
}));
