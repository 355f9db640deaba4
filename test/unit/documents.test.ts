import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';

const ROOT = join(import.meta.dirname, '../..');
const documents = [
  'README.md',
  ...readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => join('docs', name)),
];

describe('documents', () => {
  // acme is the carrier that a guide makes up.
  it.each(documents)('%s names files that are there', (document) => {
    const text = readFileSync(join(ROOT, document), 'utf8');
    const named = [
      ...text.matchAll(/\b(?:src|test|migrations|schema|docs)\/[\w./-]+\.(?:ts|tsx|md|json|sql|graphql)\b/g),
    ];
    const missing = named
      .map(([path]) => path)
      .filter((path) => !path.includes('acme') && !existsSync(join(ROOT, path)));
    expect(missing).toEqual([]);
  });
});
