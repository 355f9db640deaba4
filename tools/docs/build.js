/**
 * Builds the pages at `/docs`. It turns docs/guides/*.md and schema/openapi.json into dist/docs, which
 * src/rest/pages/docs.ts serves. Every page is written as HTML and as Markdown, each with compressed copies beside it.
 */
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { readGuides } from './guides.js';
import { layout } from './layout.js';
import { render } from './markdown.js';
import { referencePages } from './reference.js';

const OUT = 'dist/docs';
const ASSETS = join(import.meta.dirname, 'assets');
/** This quality takes a quarter of the time of the best one. The files are 3 % larger. */
const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } };

/**
 * Returns all pages in reading order: `{path, title, summary, section, markdown, html, headings}`. `path` is the path
 * below `/docs`. The first page has an empty path.
 */
export async function docsPages() {
  const guides = await readGuides();
  return [...guides.map((guide) => ({ ...guide, ...render(guide.markdown) })), ...referencePages()];
}

/** Returns the Markdown of a page, for readers without a browser. Its links are changed to work outside the site. */
const plain = (page) =>
  `${page.markdown.replaceAll(/\]\((\/docs[^)#\s]*)/g, ']($1.md')}`.replaceAll('.md.md', '.md');

function llms(pages) {
  const lines = pages
    .filter(({ isListed }) => isListed)
    .map(({ path, title, summary }) => `- [${title}](/docs/${path === '' ? 'index' : path}.md): ${summary}`);
  return `# Messaging gateway\n\n> SMS, email, push and WhatsApp behind one REST and one GraphQL API, on your own machines.\n\n## Guides and reference\n\n${lines.join('\n')}\n\n## More\n\n- [All pages in one file](/docs/llms-full.txt)\n- [OpenAPI 3.1 document](/api/v1/openapi.json)\n`;
}

/** The data that the search reads: one row for each section of a page. */
const searchIndex = (pages) =>
  pages.flatMap(({ path, title, sections }) =>
    sections.map(({ id, heading, text }) => [
      `/docs${path ? `/${path}` : ''}${id ? `#${id}` : ''}`,
      title,
      heading,
      text,
    ]),
  );

async function build() {
  const pages = await docsPages();
  const listed = pages.filter(({ isListed }) => isListed);
  const files = new Map([
    ['llms.txt', llms(pages)],
    ['llms-full.txt', pages.map((page) => plain(page)).join('\n\n---\n\n')],
    ['search.json', JSON.stringify(searchIndex(pages))],
  ]);
  for (const page of pages) {
    const name = page.path === '' ? 'index' : page.path;
    files.set(`${name}.html`, layout(page, listed));
    files.set(`${name}.md`, plain(page));
  }
  for (const name of readdirSync(ASSETS)) files.set(`assets/${name}`, readFileSync(join(ASSETS, name)));

  const stage = `${OUT}.new`;
  rmSync(stage, { recursive: true, force: true });
  for (const [name, content] of files) {
    const place = join(stage, name);
    mkdirSync(dirname(place), { recursive: true });
    writeFileSync(place, content);
    writeFileSync(`${place}.br`, brotliCompressSync(content, BROTLI));
    writeFileSync(`${place}.gz`, gzipSync(content));
  }
  // Replace each file by a rename, so that a test that reads it at this moment never sees half a file.
  for (const name of readdirSync(stage, { recursive: true, withFileTypes: true })) {
    if (!name.isFile()) continue;
    const from = join(name.parentPath, name.name);
    const to = join(OUT, from.slice(stage.length));
    mkdirSync(dirname(to), { recursive: true });
    renameSync(from, to);
  }
  rmSync(stage, { recursive: true });
  const current = (name) => files.has(name.replace(/\.(br|gz)$/, ''));
  for (const name of readdirSync(OUT, { recursive: true, withFileTypes: true })) {
    const path = join(name.parentPath, name.name);
    if (name.isFile() && !current(path.slice(OUT.length + 1).replaceAll('\\', '/'))) rmSync(path);
  }
}

if (import.meta.filename === process.argv[1]) await build();
