import { readFileSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

/**
 * Finds which test files test which rule of docs/rules.md. A test belongs to a rule if its title contains the rule's
 * number. coverage.test.ts checks that every rule has a test, and that the table at the end of docs/rules.md is
 * current.
 */
const TESTS = fileURLToPath(new URL('..', import.meta.url));
export const RULES = fileURLToPath(new URL('../../docs/rules.md', import.meta.url));

/** By rule number (`R12`): the test files in which a title contains that number. */
export type Coverage = ReadonlyMap<string, readonly string[]>;

/** The numbers of the rules, in the order of their headings in docs/rules.md. */
export const RULE_NUMBERS: readonly string[] = [
  ...readFileSync(RULES, 'utf8').matchAll(/^### (R\d+) /gm),
].map(([, id = '']) => id);

export async function readCoverage(): Promise<Coverage> {
  const coverage = new Map<string, string[]>(RULE_NUMBERS.map((id) => [id, []]));
  const files = (await readdir(TESTS, { recursive: true })).filter((name) => name.endsWith('.test.ts'));
  for (const file of files.sort()) {
    const source = await readFile(`${TESTS}/${file}`, 'utf8');
    const titles = [...source.matchAll(/\(\s*(['"`])((?:(?!\1)[^\\\n]|\\.)*)\1,/g)];
    const held = new Set(titles.flatMap(([, , title = '']) => rulesIn(title)));
    for (const id of held) coverage.get(id)?.push(file);
  }
  return coverage;
}

/** Returns the rules in a title: `R12`, `R13–R16`. */
export function rulesIn(title: string): string[] {
  return [...title.matchAll(/\bR(\d+)(?:[-–]R(\d+))?\b/g)].flatMap(([, from, to = from]) =>
    Array.from({ length: Number(to) - Number(from) + 1 }, (_, index) => `R${Number(from) + index}`),
  );
}

/** Returns the text `rules`, in which the table between the two markers is replaced by the tests of each rule. */
export function withTable(rules: string, coverage: Coverage): string {
  const lines = [...coverage].map(
    ([id, files]) => `| ${id} | ${files.map((file) => `\`${file}\``).join(', ')} |`,
  );
  const table = ['| Rule | Test files |', '|---|---|', ...lines].join('\n');
  return rules.replace(
    /<!-- tests:begin -->[\s\S]*<!-- tests:end -->/,
    () => `<!-- tests:begin -->\n${table}\n<!-- tests:end -->`,
  );
}
