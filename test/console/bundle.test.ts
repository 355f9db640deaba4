import { readdirSync, readFileSync, statSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { consoleTypes } from '../../tools/console-types.js';

const BUILT = 'dist/console';
const FIRST_LOAD_BYTES = 170_000;

describe('the built console', () => {
  it.each(['en', 'fr', 'sw'])(
    'loads under 170 kB compressed before its first page in %s (R462)',
    (language) => {
      const page = readFileSync(`${BUILT}/index.html`, 'utf8');
      const named = [...page.matchAll(/(?:src|href)="\/console\/(assets\/[^"]+\.(?:js|css))"/g)];
      const loaded = new Set(['index.html', ...named.map(([, name]) => name!)]);
      for (const name of loaded) {
        for (const imported of staticImportsOf(name)) loaded.add(imported);
      }
      expect(loaded.size).toBeGreaterThan(2);
      if (language !== 'en') {
        const words = [...loaded].flatMap((name) => wordsIn(name, language));
        expect(words).toHaveLength(1);
        loaded.add(words[0]!);
      }
      const bytes = [...loaded].reduce((sum, name) => sum + statSync(`${BUILT}/${name}.gz`).size, 0);
      expect(bytes).toBeLessThan(FIRST_LOAD_BYTES);
    },
  );

  it('names no other host and has no inline script', () => {
    expect(readFileSync(`${BUILT}/index.html`, 'utf8')).not.toMatch(/https?:|<script>|<style|style="/);
  });

  it('has types generated from its documents and the schema', async () => {
    const files = await consoleTypes();
    expect(files.size).toBeGreaterThan(0);
    for (const [path, text] of files) {
      expect({ path, text: readFileSync(path, 'utf8') }).toEqual({ path, text });
    }
  });

  it('checks permissions that exist', () => {
    const roles = JSON.parse(readFileSync('test/contract/operation-roles.json', 'utf8'));
    const sources = readdirSync('src/console', { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.tsx?$/.test(name) && !name.endsWith('.generated.ts'))
      .map((name) => readFileSync(`src/console/${name}`, 'utf8'));
    const asked = sources.flatMap((text) =>
      [
        ...text.matchAll(
          /(?:usePermission\(|<Can run=|^ +page\(\s*'[^']*',\s*t\('[^']*'\),\s*)['"](\w+\.\w+)/gm,
        ),
      ].map(([, name]) => name!),
    );
    expect(asked.length).toBeGreaterThan(3);
    expect(asked.filter((name) => !(name in roles))).toEqual([]);
  });

  it('calls a page operators-only exactly when no account role opens it', () => {
    const roles = JSON.parse(readFileSync('test/contract/operation-roles.json', 'utf8'));
    const routes = readFileSync('src/console/routes.tsx', 'utf8');
    const pages = [...routes.matchAll(/^ +(page|operatorPage)\(\s*'([^']*)',\s*t\('[^']*'\),\s*'([^']*)'/gm)];
    expect(pages.length).toBeGreaterThan(20);
    for (const [, kind, path, permission] of pages) {
      const isForOperators = roles[permission!].every((role: string) => role.startsWith('OPERATOR'));
      expect({ path, kind }).toEqual({ path, kind: isForOperators ? 'operatorPage' : 'page' });
    }
  });
});

/** Returns the scripts that a script needs to start. Scripts that it loads later with `import(…)` do not count. */
function staticImportsOf(name: string): string[] {
  if (!name.endsWith('.js')) return [];
  const text = readFileSync(`${BUILT}/${name}`, 'utf8');
  return [...text.matchAll(/(?:from|import)\s*"\.\/([^"]+\.js)"/g)].map(([, file]) => `assets/${file}`);
}

/** Returns the catalogues of a language for the first load that a script names. */
function wordsIn(name: string, language: string): string[] {
  if (!name.endsWith('.js')) return [];
  const text = readFileSync(`${BUILT}/${name}`, 'utf8');
  const found = text.matchAll(new RegExp(`import\\([^)]*?\\./(${language}-(?!pages)[\\w-]+\\.js)`, 'g'));
  return [...found].map(([, file]) => `assets/${file}`);
}
