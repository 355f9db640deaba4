/** Reads the guides of docs/guides in reading order, and makes a page for each error code of docs/guides/errors.md. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ERROR_RESPONSES } from '../../src/rest/error-response.ts';

const GUIDES = 'docs/guides';
/** Names of the pages in reading order, by section of the menu. */
const ORDER = {
  'Get started': ['index', 'quickstart', 'authentication', 'testing'],
  'Send and follow': [
    'sending',
    'prices',
    'senders',
    'consent',
    'erasure',
    'states',
    'idempotency',
    'errors',
  ],
  Integrate: ['webhooks', 'alerts', 'graphql', 'live-updates', 'mcp', 'limits', 'fraud'],
  'Go live': ['going-live', 'uganda', 'changelog'],
};

/** Returns the title and the first sentence of a page. */
function headOf(markdown, name) {
  const [, title] = /^# (.+)$/m.exec(markdown) ?? [];
  const [, first] = /^# .+\n\n([\s\S]+?)\n\n/m.exec(markdown) ?? [];
  if (title === undefined || first === undefined)
    throw new Error(`${name} needs a title and a first paragraph`);
  const [sentence] = /^.+?[.](?= |$)/.exec(first.replaceAll('\n', ' ')) ?? [first];
  return { title: title.replaceAll('`', ''), summary: sentence.replaceAll(/[`*]|\]\([^)]*\)|\[/g, '') };
}

export async function readGuides() {
  const pages = [];
  for (const [section, names] of Object.entries(ORDER)) {
    for (const name of names.filter((each) => existsSync(fileOf(each)))) {
      const markdown = linked(read(name));
      const path = name === 'index' ? '' : name;
      pages.push({ path, section, isListed: true, markdown, ...headOf(markdown, name) });
      if (name === 'errors') pages.push(...errorPages(markdown).map((page) => ({ ...page, section })));
    }
  }
  return pages;
}

const fileOf = (name) => join(GUIDES, `${name}.md`);
const read = (name) => readFileSync(fileOf(name), 'utf8');

/** Turns links between Markdown files, which work in the repository, into links between pages. */
function linked(markdown) {
  return markdown.replaceAll(/\]\((?!https?:|#|\/)([\w-]+)\.md(#[\w-]+)?\)/g, (_, name, anchor = '') => {
    return `](/docs${name === 'index' ? '' : `/${name}`}${anchor})`;
  });
}

/**
 * Makes a page for each `### code` of docs/guides/errors.md. If REST answers with this code, the page also names its
 * HTTP status.
 */
function errorPages(markdown) {
  return [...markdown.matchAll(/^### `(\w+)`\n\n([\s\S]*?)(?=^#|(?![\s\S]))/gm)].map(([, code, text]) => {
    const status = ERROR_RESPONSES[code]?.status;
    const answer = status === undefined ? '' : `REST answers with the status **${status}**.\n\n`;
    const page = `# ${code}\n\n${text.trimEnd()}\n\n${answer}[All error codes](/docs/errors)\n`;
    return { path: `errors/${code}`, isListed: false, markdown: page, ...headOf(page, code) };
  });
}
