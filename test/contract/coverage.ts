import { readFileSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const TESTS = fileURLToPath(new URL('..', import.meta.url));
export const RULES = fileURLToPath(new URL('../../docs/rules.md', import.meta.url));
/** Rules that no title names yet, by number. An entry goes when a test holds it. Only a new rule may be added. */
export const NOT_HELD_YET = fileURLToPath(new URL('not-held-yet.json', import.meta.url));

interface Title {
  readonly file: string;
  readonly text: string;
}

export async function readNotHeldYet(): Promise<string[]> {
  return JSON.parse(await readFile(NOT_HELD_YET, 'utf8'));
}

/** Each rule, by number (`R12`), with the titles of the tests that hold it. */
export type Coverage = ReadonlyMap<string, readonly Title[]>;

interface Rule {
  readonly id: string;
  readonly title: string;
}

/** The rules in the order of their headings in docs/rules.md. */
const RULE_HEADINGS: readonly Rule[] = [...readFileSync(RULES, 'utf8').matchAll(/^### (R\d+) (.+)$/gm)].map(
  ([, id = '', title = '']) => ({ id, title }),
);

export const ROWS: readonly string[] = RULE_HEADINGS.map(({ id }) => id);

/** Rules that replaced a row of the API's description, R35 to R198: a title may still name them `Section: row`. */
const CONTRACT = new Map<string, Map<string, string>>();
for (const { id, title } of RULE_HEADINGS.slice(34, 198)) {
  const [section = '', row = ''] = title.split(/: (.*)/s);
  CONTRACT.set(section, (CONTRACT.get(section) ?? new Map()).set(row, id));
}

/** Titles of all suites and tests that speak of the contract or of a decision. */
async function readTitles(): Promise<Title[]> {
  const names = (await readdir(TESTS, { recursive: true }))
    .filter((name) => name.endsWith('.test.ts'))
    .sort();
  const titles: Title[] = [];
  for (const name of names) {
    const source = await readFile(`${TESTS}/${name}`, 'utf8');
    for (const [, , text = ''] of source.matchAll(/\(\s*(['"`])((?:(?!\1)[^\\\n]|\\.)*)\1,/g)) {
      if (/contract|decision|\bR\d/.test(text))
        titles.push({ file: relative(TESTS, `${TESTS}/${name}`), text });
    }
  }
  return titles;
}

export async function readCoverage(): Promise<Coverage> {
  const coverage = new Map<string, Title[]>(ROWS.map((row) => [row, []]));
  for (const title of await readTitles()) {
    for (const row of new Set([
      ...decisionsIn(title.text),
      ...contractRowsIn(title.text),
      ...rulesIn(title.text),
    ])) {
      coverage.get(row)?.push(title);
    }
  }
  return coverage;
}

/** `R12`, `R13–R16`. */
export function rulesIn(title: string): string[] {
  return [...title.matchAll(/\bR(\d+)(?:[-–]R(\d+))?\b/g)].flatMap(([, from, to = from]) =>
    Array.from({ length: Number(to) - Number(from) + 1 }, (_, index) => `R${Number(from) + index}`),
  );
}

/** `decision 12`, `decisions 2, 3 and 5`, `decisions 13–16`. */
export function decisionsIn(title: string): string[] {
  return [...title.matchAll(/decisions?\s+(\d+(?:(?:,\s*|\s+and\s+|\s*[-–]\s*)\d+)*)/gi)].flatMap(
    ([, list = '']) => numbersIn(list).map((number) => `R${number}`),
  );
}

/** `contract, Limits` holds every row of Limits; `contract, Limits: Window, Burst` holds those two. */
export function contractRowsIn(title: string): string[] {
  const start = title.indexOf('contract');
  if (start < 0) return [];
  return title
    .slice(start)
    .split(/[;)\]]/)
    .flatMap((chunk) => {
      // The first that is named, since a row may have the name of another section: `Limits: SMS message`.
      const section = [...CONTRACT.keys()]
        .filter((name) => holdsWord(chunk, name))
        .sort((a, b) => chunk.indexOf(a) - chunk.indexOf(b) || b.length - a.length)[0];
      if (section === undefined) return [];
      const rows = [...(CONTRACT.get(section) ?? [])];
      const rest = chunk
        .slice(chunk.indexOf(section) + section.length)
        .replace(/(?:decisions?\s+|R)\d.*/i, '');
      const named = rest.replaceAll(/["':,\s]+/g, ' ').trim();
      if (named === '') return rows.map(([, id]) => id);
      const numbers = numbersIn(named).map(String);
      return rows
        .filter(([row]) => {
          const [, number] = /^(?:rule )?(\d)$/.exec(row) ?? [];
          if (row === '') return false;
          return number === undefined
            ? holdsWord(named.toLowerCase(), row.toLowerCase())
            : numbers.includes(number);
        })
        .map(([, id]) => id);
    });
}

function holdsWord(text: string, word: string): boolean {
  const literal = word.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
  return new RegExp(`(?<![\\w./-])${literal}(?![\\w/-])`).test(text);
}

function numbersIn(list: string): number[] {
  return [...list.matchAll(/(?<![\w.])(\d+)(?:\s*[-–]\s*(\d+))?(?!\w)/g)].flatMap(([, from, to = from]) => {
    const least = Number(from);
    return Array.from({ length: Math.max(Number(to) - least + 1, 0) }, (_, index) => least + index);
  });
}

/** `rules` with the table between its markers replaced by the tests of each rule. */
export function withTable(rules: string, coverage: Coverage): string {
  const cellOf = (id: string) =>
    (coverage.get(id) ?? [])
      .map(({ file, text }) => `\`${file}\`: ${text.replaceAll('\\', '').replaceAll('|', '\\|')}`)
      .join('<br>') || '**no title names it yet**';
  const lines = ROWS.map((id) => `| ${id} | ${cellOf(id)} |`);
  const table = ['| Rule | Tests |', '|---|---|', ...lines].join('\n');
  return rules.replace(
    /<!-- tests:begin -->[\s\S]*<!-- tests:end -->/,
    () => `<!-- tests:begin -->\n${table}\n<!-- tests:end -->`,
  );
}
