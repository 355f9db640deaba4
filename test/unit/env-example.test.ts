import { readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { expect, it } from '@jest/globals';

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

/** The variables that config.ts reads: the members of its zod schema. */
const known = [
  .../const variables = z\.object\(\{([\s\S]*?)\n\}\);/
    .exec(read('src/config/config.ts'))![1]!
    .matchAll(/^ {2}([A-Z][A-Z0-9_]+):/gm),
].map(([, name]) => name!);

it('.env.example names each setting once, all commented out', () => {
  const text = read('.env.example');
  expect(parseEnv(text)).toEqual({});
  const named = [...text.matchAll(/^#([A-Z][A-Z0-9_]+)=/gm)].map(([, name]) => name!);
  expect(named.toSorted()).toEqual(known.toSorted());
});

it('docs/operations/environment.md explains each setting', () => {
  const explained = read('docs/operations/environment.md')
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .flatMap((line) => [...line.split('|')[1]!.matchAll(/`([A-Z][A-Z0-9_]+)`/g)].map(([, name]) => name!));
  expect(explained.toSorted()).toEqual(known.toSorted());
});
