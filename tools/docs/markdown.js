/**
 * Converts Markdown to HTML. Code is coloured by CSS classes, because the pages' security policy forbids inline styles.
 */
import hljs from 'highlight.js/lib/core';
import bash from 'highlight.js/lib/languages/bash';
import go from 'highlight.js/lib/languages/go';
import graphql from 'highlight.js/lib/languages/graphql';
import http from 'highlight.js/lib/languages/http';
import java from 'highlight.js/lib/languages/java';
import javascript from 'highlight.js/lib/languages/javascript';
import json from 'highlight.js/lib/languages/json';
import php from 'highlight.js/lib/languages/php';
import python from 'highlight.js/lib/languages/python';
import typescript from 'highlight.js/lib/languages/typescript';
import xml from 'highlight.js/lib/languages/xml';
import MarkdownIt from 'markdown-it';

const GRAMMARS = {
  sh: bash,
  go,
  graphql,
  html: xml,
  http,
  java,
  js: javascript,
  json,
  php,
  python,
  ts: typescript,
};
for (const [name, grammar] of Object.entries(GRAMMARS)) hljs.registerLanguage(name, grammar);

/** Labels of the tabs, by language. */
const LABELS = {
  ...{ sh: 'curl', ts: 'TypeScript', js: 'JavaScript', python: 'Python', php: 'PHP', go: 'Go', java: 'Java' },
  ...{ json: 'JSON', graphql: 'GraphQL', http: 'HTTP', html: 'HTML', text: 'Text' },
};

export const escapeHtml = (text) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
export const slugOf = (text) =>
  text
    .toLowerCase()
    .replaceAll(/[^a-z0-9_]+/g, '-')
    .replaceAll(/^-|-$/g, '');

/**
 * Makes a code block with a copy button. `marks` are the words after the language of the fence. `output` marks what a
 * command prints.
 */
function codeBlock(language, code, marks = []) {
  const coloured = hljs.getLanguage(language) ? hljs.highlight(code, { language }).value : escapeHtml(code);
  const isOutput = marks.includes('output');
  const label = isOutput && language !== 'http' ? '<span class="code-label">Output</span>' : '';
  return `<div class="code${isOutput ? ' output' : ''}">${label}<button type="button" class="copy">Copy</button><pre tabindex="0"><code>${coloured}</code></pre></div>`;
}

/** Makes tabs from code blocks that show the same example in several languages. One of them is visible. */
export function codeTabs(blocks) {
  const tabs = blocks.map(
    ({ language }, index) =>
      `<button type="button" role="tab" data-language="${language}" aria-selected="${index === 0}">${LABELS[language] ?? language}</button>`,
  );
  const panels = blocks.map(
    ({ language, code, marks }) =>
      `<div role="tabpanel" data-language="${language}" aria-label="${LABELS[language] ?? language}">${codeBlock(language, code, marks)}</div>`,
  );
  return `<div class="tabs"><div role="tablist" aria-label="Language">${tabs.join('')}</div>${panels.join('')}</div>`;
}

function createMarkdown() {
  const markdown = new MarkdownIt({ html: false, linkify: false, typographer: false });
  const { rules } = markdown.renderer;
  rules.fence = (tokens, index) => {
    const blocks = tokens[index].meta?.tabs;
    if (blocks === null) return '';
    if (blocks) return codeTabs(blocks);
    const [language = 'text', ...marks] = tokens[index].info.split(' ');
    return codeBlock(language, tokens[index].content, marks);
  };
  rules.heading_open = (tokens, index, options, _env, self) => {
    const text = tokens[index + 1].content.replaceAll('`', '');
    tokens[index].attrSet('id', slugOf(text));
    return self.renderToken(tokens, index, options);
  };
  rules.heading_close = (tokens, index, options, _env, self) => {
    const open = tokens[index - 2];
    const anchor =
      open.tag === 'h1'
        ? ''
        : `<a class="anchor" href="#${open.attrGet('id')}" aria-label="Link to this section">#</a>`;
    return anchor + self.renderToken(tokens, index, options);
  };
  rules.table_open = () => '<div class="table" tabindex="0"><table>';
  rules.table_close = () => '</table></div>';
  return markdown;
}
const markdown = createMarkdown();

/**
 * Groups code blocks of different languages that directly follow each other into tabs. Blocks of output are never
 * grouped.
 */
function groupFences(tokens) {
  for (let first = 0; first < tokens.length; first++) {
    if (!isSample(tokens[first])) continue;
    let last = first;
    const languages = new Set([languageOf(tokens[first])]);
    while (isSample(tokens[last + 1]) && !languages.has(languageOf(tokens[last + 1]))) {
      last += 1;
      languages.add(languageOf(tokens[last]));
    }
    if (last === first) continue;
    const group = tokens.slice(first, last + 1);
    const tabs = group.map((token) => ({
      language: languageOf(token),
      code: token.content,
      marks: token.info.split(' ').slice(1),
    }));
    group.forEach((token, index) => {
      token.meta = { tabs: index === 0 ? tabs : null };
    });
    first = last;
  }
}
const languageOf = (token) => token.info.split(' ')[0];
const isSample = (token) => token?.type === 'fence' && !token.info.split(' ').includes('output');

/** Returns the HTML of a page, its second-level headings, and its text by section for the search. */
export function render(text) {
  const tokens = markdown.parse(text, {});
  groupFences(tokens);
  const headings = [];
  const sections = [{ id: '', heading: '', text: '' }];
  tokens.forEach((token, index) => {
    if (token.type === 'heading_open') {
      const heading = tokens[index + 1].content.replaceAll('`', '');
      if (token.tag === 'h1') return;
      sections.push({ id: slugOf(heading), heading, text: '' });
      if (token.tag === 'h2') headings.push({ id: slugOf(heading), heading });
    } else if (token.type === 'inline' && tokens[index - 1]?.type !== 'heading_open') {
      const words = token.children.map(({ content }) => content).join('');
      sections.at(-1).text += `${words} `;
    } else if (token.type === 'fence') sections.at(-1).text += `${token.content.slice(0, 400)} `;
  });
  return { html: markdown.renderer.render(tokens, markdown.options, {}), headings, sections };
}

/** Converts one line of Markdown, such as a description in the OpenAPI document. */
export const renderInline = (text) => markdown.renderInline(text);
/** Converts several paragraphs of Markdown. */
export const renderText = (text) => markdown.render(text);
