import { readdir, readFile } from 'node:fs/promises';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CONTRACT, DECISIONS } from './rows.ts';

const TESTS = fileURLToPath(new URL('..', import.meta.url));
export const README = fileURLToPath(new URL('README.md', import.meta.url));
/** Rows that no title names yet. An entry goes when a test holds it; none may be added. */
export const NOT_HELD_YET = fileURLToPath(new URL('not-held-yet.json', import.meta.url));

interface Title {
  readonly file: string;
  readonly text: string;
}

export async function readNotHeldYet(): Promise<string[]> {
  return JSON.parse(await readFile(NOT_HELD_YET, 'utf8'));
}

/** Every row and decision, by name (`Limits: Window`, `decision 12`), with the titles of the tests that hold it. */
export type Coverage = ReadonlyMap<string, readonly Title[]>;

const rowsOf = (section: string): string[] => {
  const rows = CONTRACT[section] ?? [];
  return rows.length === 0 ? [section] : rows.map((row) => `${section}: ${row}`);
};
export const ROWS: readonly string[] = [
  ...Object.keys(CONTRACT).flatMap(rowsOf),
  ...DECISIONS.map((_, index) => `decision ${index + 1}`),
];

/** Titles of all suites and tests that speak of the contract or of a decision. */
async function readTitles(): Promise<Title[]> {
  const names = (await readdir(TESTS, { recursive: true }))
    .filter((name) => name.endsWith('.test.ts'))
    .sort();
  const titles: Title[] = [];
  for (const name of names) {
    const source = await readFile(`${TESTS}/${name}`, 'utf8');
    for (const [, , text = ''] of source.matchAll(/\(\s*(['"`])((?:(?!\1)[^\\\n]|\\.)*)\1,/g)) {
      if (/contract|decision/.test(text)) titles.push({ file: relative(TESTS, `${TESTS}/${name}`), text });
    }
  }
  return titles;
}

export async function readCoverage(): Promise<Coverage> {
  const coverage = new Map<string, Title[]>(ROWS.map((row) => [row, []]));
  for (const title of await readTitles()) {
    for (const row of new Set([...decisionsIn(title.text), ...contractRowsIn(title.text)])) {
      coverage.get(row)?.push(title);
    }
  }
  return coverage;
}

/** `decision 12`, `decisions 2, 3 and 5`, `decisions 13–16`. */
export function decisionsIn(title: string): string[] {
  return [...title.matchAll(/decisions?\s+(\d+(?:(?:,\s*|\s+and\s+|\s*[-–]\s*)\d+)*)/gi)].flatMap(
    ([, list = '']) => numbersIn(list).map((number) => `decision ${number}`),
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
      const section = Object.keys(CONTRACT)
        .filter((name) => holdsWord(chunk, name))
        .sort((a, b) => chunk.indexOf(a) - chunk.indexOf(b) || b.length - a.length)[0];
      if (section === undefined) return [];
      const rest = chunk.slice(chunk.indexOf(section) + section.length).replace(/decisions?\s+\d.*/i, '');
      const named = rest.replaceAll(/["':,\s]+/g, ' ').trim();
      if (named === '') return rowsOf(section);
      const numbers = numbersIn(named).map(String);
      return (CONTRACT[section] ?? [])
        .filter((row) => {
          const [, number] = /^(?:rule )?(\d)$/.exec(row) ?? [];
          return number === undefined
            ? holdsWord(named.toLowerCase(), row.toLowerCase())
            : numbers.includes(number);
        })
        .map((row) => `${section}: ${row}`);
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

/** The table of README.md. */
export function readmeOf(coverage: Coverage): string {
  const cellOf = (row: string) =>
    (coverage.get(row) ?? [])
      .map(({ file, text }) => `\`${file}\`: ${text.replaceAll('\\', '').replaceAll('|', '\\|')}`)
      .join('<br>') || '**none yet**';
  const tables = Object.keys(CONTRACT).map((section) => {
    const rows = rowsOf(section).map(
      (row) => `| ${row.slice(section.length + 2) || 'all'} | ${cellOf(row)} |`,
    );
    return [`## ${section}`, '', '| Row | Held by |', '|---|---|', ...rows, ''].join('\n');
  });
  const decisions = DECISIONS.map(
    (about, index) => `| ${index + 1} | ${about} | ${cellOf(`decision ${index + 1}`)} |`,
  );
  return [
    HEAD,
    ...tables,
    ['## Decisions', '', '| No. | About | Held by |', '|---|---|---|', ...decisions, ''].join('\n'),
  ].join('\n');
}

const HEAD = `# Which test holds which promise

Every row of the contract and every numbered decision is held by a test that names it in its title, or in the title
of a \`describe\` around it:

- \`[decision 12]\`, \`[decisions 2, 3]\`
- \`[contract, Limits: Window, Burst]\` names two rows of a section; \`[contract, Limits]\` names the section's every row
- \`[contract, URL requirements: 2]\` names an item of a numbered list, \`[contract, POST /developers/sms: rules 1–3]\`
  rules of a route

Round brackets do as well, and \`;\` stands between several: \`(contract, Errors: 429; Limits: Window; decision 12)\`.
Sections and rows are listed in \`rows.ts\`; \`coverage.test.ts\` fails when one is held by no title. What follows is
written by \`npm run contract-table\` from the titles; it takes what is held off the list in \`not-held-yet.json\` too.
`;
