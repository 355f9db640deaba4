import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { builtFolder } from '../pages/built.ts';

interface Guide {
  /** Last part of the page's path: `/docs/NAME`. */
  readonly name: string;
  readonly title: string;
  read(): Promise<string>;
}

const FOLDER = builtFolder('docs');
let known: Promise<readonly Guide[]> | undefined;

/**
 * Returns the guides of dist/docs as Markdown, without the API reference. The list is read once, because the files
 * change only with a new version of the gateway.
 */
export function readGuides(): Promise<readonly Guide[]> {
  known ??= list();
  return known;
}

async function list(): Promise<Guide[]> {
  const files = (await readdir(FOLDER)).filter((name) => name.endsWith('.md') && name !== 'api.md');
  return Promise.all(
    files.map(async (file) => {
      const read = () => readFile(join(FOLDER, file), 'utf8');
      const [, title = file] = /^# (.+)$/m.exec(await read()) ?? [];
      return { name: file.slice(0, -'.md'.length), title, read };
    }),
  );
}

/** Returns the page of an error code. Undefined if the code has no page. */
export async function readErrorPage(code: string): Promise<string | undefined> {
  if (!/^[a-z_]{1,64}$/.test(code)) return undefined;
  try {
    return await readFile(join(FOLDER, 'errors', `${code}.md`), 'utf8');
  } catch {
    return undefined;
  }
}
