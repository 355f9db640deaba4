/**
 * Builds the pages at `/docs`: docs/guides/*.md and schema/openapi.json become dist/docs, which src/rest/pages/docs.ts
 * serves. Every page exists as HTML and as Markdown, each compressed beside itself.
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
/** A quarter of the time of the best quality, for 3 % more bytes. */
const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } };

/**
 * All pages in reading order: `{path, title, summary, section, markdown, html, headings}`. `path` is below `/docs`, ''
 * for the first.
 */
export async function docsPages() {
  const guides = await readGuides();
  return [...guides.map((guide) => ({ ...guide, ...render(guide.markdown) })), ...referencePages()];
}

/** A page for readers without a browser: the Markdown with links that work outside the site. */
const plain = (page) =>
  `${page.markdown.replaceAll(/\]\((\/docs[^)#\s]*)/g, ']($1.md')}`.replaceAll('.md.md', '.md');

function llms(pages) {
  const lines = pages
    .filter(({ isListed }) => isListed)
    .map(({ path, title, summary }) => `- [${title}](/docs/${path === '' ? 'index' : path}.md): ${summary}`);
  return `# Messaging gateway\n\n> SMS, email, push and WhatsApp behind one REST and one GraphQL API, on your own machines.\n\n## Guides and reference\n\n${lines.join('\n')}\n\n## More\n\n- [All pages in one file](/docs/llms-full.txt)\n- [OpenAPI 3.1 document](/api/v1/openapi.json)\n`;
}

/** What the search looks through: a row for each section of a page. */
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
  // Files that a test reads at this moment stay whole: each is replaced by a rename.
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
