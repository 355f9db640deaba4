/**
 * Makes the HTML around every page: menu, search, table of contents, previous and next. It contains no inline script or
 * style, because the pages' security policy forbids them.
 */
import { escapeHtml } from './markdown.js';

const hrefOf = (path) => `/docs${path === '' ? '' : `/${path}`}`;

function menu(current, listed) {
  const sections = [...new Set(listed.map(({ section }) => section))];
  const link = ({ path, title }) => {
    const isHere = path === current.path || (path === 'errors' && current.path.startsWith('errors/'));
    return `<li><a href="${hrefOf(path)}"${isHere ? ' aria-current="page"' : ''}>${escapeHtml(title)}</a></li>`;
  };
  return sections
    .map((section) => {
      const pages = listed.filter((page) => page.section === section);
      return `<h2>${escapeHtml(section)}</h2><ul>${pages.map(link).join('')}</ul>`;
    })
    .join('');
}

function beside(current, listed) {
  const at = listed.findIndex(({ path }) => path === current.path);
  if (at < 0) return '';
  const link = (page, rel, word) =>
    page
      ? `<a rel="${rel}" href="${hrefOf(page.path)}"><small>${word}</small>${escapeHtml(page.title)}</a>`
      : '<span></span>';
  return `<nav class="beside" aria-label="Previous and next page">${link(listed[at - 1], 'prev', 'Previous')}${link(listed[at + 1], 'next', 'Next')}</nav>`;
}

export function layout(page, listed) {
  const contents = page.headings
    .map(({ id, heading }) => `<li><a href="#${id}">${escapeHtml(heading)}</a></li>`)
    .join('');
  const source = page.path === '' ? '/docs/index.md' : `/docs/${page.path}.md`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(page.title)} · Messaging gateway</title>
<meta name="description" content="${escapeHtml(page.summary)}">
<link rel="icon" type="image/svg+xml" href="/docs/assets/icon.svg">
<link rel="alternate" type="text/markdown" href="${source}">
<link rel="stylesheet" href="/docs/assets/site.css">
<script src="/docs/assets/theme.js"></script>
<script src="/docs/assets/site.js" defer></script>
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header class="top">
<button type="button" id="menu-button" aria-expanded="false" aria-controls="menu">Menu</button>
<a class="brand" href="/docs">Messaging gateway</a>
<button type="button" id="search-button">Search <kbd>/</kbd></button>
<nav aria-label="Other places"><a href="/docs/api">API reference</a><a href="/console">Console</a></nav>
<button type="button" id="theme-button">Dark</button>
</header>
<div class="frame">
<nav id="menu" aria-label="Pages">${menu(page, listed)}</nav>
<main id="content">
<article>
${page.html}
</article>
${beside(page, listed)}
<footer><a href="${source}">This page as Markdown</a><a href="/docs/llms.txt">llms.txt</a></footer>
</main>
${contents === '' ? '' : `<nav class="contents" aria-label="On this page"><h2>On this page</h2><ul>${contents}</ul></nav>`}
</div>
<dialog id="search" aria-label="Search"><form method="dialog"><input type="search" aria-label="Search the documentation" placeholder="Search the documentation" autocomplete="off" spellcheck="false"><button value="close">Close</button></form><ol></ol></dialog>
</body>
</html>
`;
}
