import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';

const ROOT = join(import.meta.dirname, '../..');
const documents = [
  'README.md',
  'sdk/typescript/README.md',
  'sdk/python/README.md',
  ...readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => join('docs', name)),
];

describe('documents', () => {
  // The guide uses a carrier `acme` as an example. It does not exist.
  it.each(documents)('%s names only files that exist', (document) => {
    const text = readFileSync(join(ROOT, document), 'utf8');
    const named = [
      ...text.matchAll(/\b(?:src|test|migrations|schema|docs)\/[\w./-]+\.(?:ts|tsx|md|json|sql|graphql)\b/g),
    ];
    const missing = named
      .map(([path]) => path)
      .filter((path) => !path.includes('acme') && !existsSync(join(ROOT, path)));
    expect(missing).toEqual([]);
  });

  /** True if `text` declares a function, class, constant, type, async method or operation of this name. */
  const declares = (text: string, name: string) =>
    [
      `^(?:export )?(?:async )?(?:function|class|const|interface|type) ${name}\\b`,
      `^ {2}async ${name}\\(`,
      `^ {4}${name}: operation\\(`,
    ].some((form) => new RegExp(form, 'm').test(text));

  /** `name` in `file`, or `name` and `name` in `file`. */
  const NAMED = /((?:`[#\w]+`(?: and )?)+) in `(src\/[^`]+)`/g;

  it('docs/flows.md names functions together with the file that declares them', () => {
    const flows = readFileSync(join(ROOT, 'docs/flows.md'), 'utf8');
    const undeclared = [...flows.matchAll(NAMED)].flatMap(([, names = '', path = '']) => {
      const text = readFileSync(join(ROOT, path), 'utf8');
      const quoted = [...names.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name);
      return quoted.filter((name) => !declares(text, name)).map((name) => `${name} in ${path}`);
    });
    expect(undeclared).toEqual([]);
  });

  it('each row of the index in docs/flows.md names a function and its file, and nothing else', () => {
    const [, index = ''] = readFileSync(join(ROOT, 'docs/flows.md'), 'utf8').split(/^## /m);
    const rows = [...index.matchAll(/^\| .* \| (.*) \|$/gm)].map(([, where = '']) => where).slice(1);
    expect(rows.length).toBeGreaterThan(25);
    expect(
      rows.filter((where) => where.replaceAll(NAMED, '').includes('`') || !where.includes(' in `src/')),
    ).toEqual([]);
  });

  const read = (folder: string) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      // Leave out node_modules, because `npm run test:runtimes` installs some in the repository.
      .filter((name) => /\.(ts|tsx|md|grit)$/.test(name) && !name.includes('node_modules'))
      .map((name) => join(folder, name));
  const citing = ['src', 'test', 'migrations', 'docs', 'lint'].flatMap(read);

  it('code and documents cite only rules and decisions that exist', () => {
    const rules = new Set(
      [...readFileSync(join(ROOT, 'docs/rules.md'), 'utf8').matchAll(/^### (R\d+) /gm)].map(([, id]) => id),
    );
    const decisions = new Set(readdirSync(join(ROOT, 'docs/decisions')).map((name) => name.slice(0, 8)));
    expect(rules.size).toBeGreaterThan(200);
    const unresolved = citing.flatMap((file) => {
      const text = readFileSync(join(ROOT, file), 'utf8');
      const cited = [...text.matchAll(/\bR\d{1,3}\b(?![.]\d)|\bADR-\d{4}\b/g)].map(([id]) => id);
      return cited.filter((id) => !rules.has(id) && !decisions.has(id)).map((id) => `${file}: ${id}`);
    });
    expect(unresolved).toEqual([]);
  });

  it('code and documents cite rules and decisions by number', () => {
    const found = citing
      .filter((file) => file !== 'test/unit/documents.test.ts' && !file.startsWith('docs/decisions/'))
      .filter((file) =>
        /\b(?:decisions?|issues?) \d|\(contract\b|\bgraphql-names\b/i.test(
          readFileSync(join(ROOT, file), 'utf8'),
        ),
      );
    expect(found).toEqual([]);
  });
});
